#include "dictionaries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lexer.hpp"
#include "parser.hpp"
#include "scalars.hpp"
#include "sinter/ops.hpp"

namespace sinter::tools {
namespace {

Value as_list(std::vector<Value> items, std::size_t offset) {
  Tuple all;
  all.assign(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  all.is_list = true;
  return {std::move(all), offset};
}

}  // namespace

Value key_of(const Value& value) {
  if (const auto* tensor = value.as<Tensor>(); tensor && tensor->ndim() == 0) return numbers_of(*tensor, value.offset);
  const auto* tuple = value.as<Tuple>();
  if (tuple && !tuple->is_list && !tuple->is_complex) {
    Tuple keys;
    for (const Value& item : *tuple) keys.push_back(key_of(item));
    return {std::move(keys), value.offset};
  }
  if (value.is_number() || value.as<std::string>() || value.as<None>() || value.as<DType>()) return value;
  throw Fault{value.offset, fmt::format("a key is a number, a string or a tuple of them, not {}", kind_name(value))};
}

bool same_key(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return *scalar_binary("==", a, b, a.offset).as<bool>();
  if (a.is.index() != b.is.index()) return false;
  if (const auto* text = a.as<std::string>()) return *text == *b.as<std::string>();
  if (const auto* dtype = a.as<DType>()) return *dtype == *b.as<DType>();
  if (const auto* tuple = a.as<Tuple>()) return std::equal(tuple->begin(), tuple->end(), b.as<Tuple>()->begin(), b.as<Tuple>()->end(), same_key);
  return a.as<None>() != nullptr;
}

std::size_t place_of(const Dictionary& dictionary, const Value& key) {
  return static_cast<std::size_t>(std::find_if(dictionary.keys.begin(), dictionary.keys.end(), [&](const Value& known) { return same_key(known, key); }) -
                                  dictionary.keys.begin());
}

void put(Dictionary& dictionary, const Value& key, Value value) {
  const Value found = key_of(key);
  const std::size_t place = place_of(dictionary, found);
  if (place == dictionary.keys.size()) {
    dictionary.keys.push_back(found);
    if (!dictionary.is_set) dictionary.values.push_back(std::move(value));
  } else if (!dictionary.is_set) {
    dictionary.values[place] = std::move(value);
  }
}

const Value& item_of(const Dictionary& dictionary, const Value& key, std::size_t offset) {
  if (dictionary.is_set) throw Fault{offset, "a set has no values; ask whether something is in it"};
  const std::size_t place = place_of(dictionary, key_of(key));
  if (place == dictionary.keys.size()) throw Fault{offset, fmt::format("there is no such key in the dictionary, which has {}", dictionary.keys.size())};
  return dictionary.values[place];
}

Value Parser::dictionary(const Token& opening) {
  Dictionary made;
  if (accept("}")) return {std::move(made), opening.offset};
  if (const std::size_t word = comprehension("}")) {
    std::size_t colon = 0;
    int open = 0;
    for (std::size_t k = 0; at_ + k < word && colon == 0; ++k)
      if ((open += opens(peek(k))) == 0 && peek(k).is(":")) colon = k;
    made.is_set = colon == 0;
    const Value flat = comprehended(opening, word, "}", colon != 0);
    const Tuple& items = *flat.as<Tuple>();
    for (std::size_t k = 0; k < items.size(); k += colon != 0 ? 2 : 1) put(made, items[k], colon != 0 ? items[k + 1] : Value{});
    return {std::move(made), opening.offset};
  }
  for (bool first = true; !peek().is("}"); first = false) {
    const Value key = expression();
    if (first) made.is_set = !peek().is(":");
    if (!made.is_set && !accept(":")) unexpected(peek());
    put(made, key, made.is_set ? Value{} : expression());
    if (!accept(",")) break;
  }
  expect("}", opening);
  return {std::move(made), opening.offset};
}

Value Parser::dictionary_attribute(const Dictionary& dictionary, const Token& name) {
  if (peek().is("(")) {
    const std::vector<Argument> given = arguments({}).list;
    if (name.text == "keys" && given.empty()) return as_list(dictionary.keys, name.offset);
    if (name.text == "values" && given.empty() && !dictionary.is_set) return as_list(dictionary.values, name.offset);
    if (name.text == "items" && given.empty() && !dictionary.is_set) {
      std::vector<Value> pairs;
      for (std::size_t k = 0; k < dictionary.keys.size(); ++k) pairs.push_back({Tuple{dictionary.keys[k], dictionary.values[k]}, name.offset});
      return as_list(std::move(pairs), name.offset);
    }
    if (name.text == "copy" && given.empty()) return {dictionary, name.offset};
    if (name.text == "get" && !given.empty() && given.size() < 3 && !dictionary.is_set) {
      const std::size_t place = place_of(dictionary, key_of(given[0].value));
      return place < dictionary.keys.size() ? dictionary.values[place] : given.size() == 2 ? given[1].value : Value{None{}, name.offset};
    }
  }
  throw Fault{name.offset,
              fmt::format("{} has no method '{}' here; there are get, keys, values, items and copy", dictionary.is_set ? "a set" : "a dictionary", name.text)};
}

/// dict(zip(…)), dict(a=1), set(list)
Value Parser::made_dictionary(const Token& name) {
  const std::vector<Argument> given = arguments({}).list;
  Dictionary made{{}, {}, name.text == "set"};
  for (const Argument& argument : given) {
    if (!argument.keyword.empty()) {
      put(made, {std::string(argument.keyword), name.offset}, argument.value);
      continue;
    }
    if (const auto* other = argument.value.as<Dictionary>(); other && !made.is_set && !other->is_set) {
      made = *other;
      continue;
    }
    for (const Value& item : items_of(argument.value)) {
      const Tuple* pair = item.as<Tuple>();
      if (!made.is_set && (!pair || pair->size() != 2)) throw Fault{argument.value.offset, "dict() takes pairs of a key and a value"};
      if (made.is_set) put(made, item, {});
      else put(made, pair->front(), pair->back());
    }
  }
  return {std::move(made), name.offset};
}

}  // namespace sinter::tools
