// Dictionaries and sets: keys in the order in which they came.
#pragma once
#include <cstddef>

#include "table/value.hpp"

namespace sinter::tools {

using namespace table;

/// A number, a string, a truth, None or a tuple of them; a tensor of one element is read. Throws Fault for what is no key.
Value key_of(const Value& value);
bool same_key(const Value& a, const Value& b);
/// Where the key stands, of a key that key_of made; the number of keys for an unknown one.
std::size_t place_of(const Dictionary& dictionary, const Value& key);
void put(Dictionary& dictionary, const Value& key, Value value);
/// Throws Fault for an unknown key.
const Value& item_of(const Dictionary& dictionary, const Value& key, std::size_t offset);

}  // namespace sinter::tools
