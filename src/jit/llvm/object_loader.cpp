// Loads a relocatable ELF object: copies its sections into one mapping, relocates them, and makes them executable. The image comes from a file that may
// be damaged or forged, so every offset, size and number in it is checked before use.
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <span>

#include "jit/compiler.hpp"
#include "jit/llvm/architecture.hpp"
#include "jit/llvm/libm_table.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace {

using llvm::Fix;

[[noreturn]] void damaged(std::string_view what) { throw CompileError(fmt::format("the machine code of a kernel is damaged: {}", what)); }

class Image {
 public:
  explicit Image(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// Returns `count` records of type T at `offset`, copied (the image may be unaligned).
  template <class T> std::vector<T> read(std::uint64_t offset, std::uint64_t count) const {
    if (count > bytes_.size() / sizeof(T)) damaged("a table is longer than the file");
    check(offset, count * sizeof(T));
    std::vector<T> records(count);
    if (count) std::memcpy(records.data(), bytes_.data() + offset, count * sizeof(T));
    return records;
  }
  const std::uint8_t* at(std::uint64_t offset, std::uint64_t size) const {
    check(offset, size);
    return bytes_.data() + offset;
  }
  /// Returns the string at `offset` of a string table.
  std::string_view string(const Elf64_Shdr& table, std::uint64_t offset) const {
    const auto* text = reinterpret_cast<const char*>(at(table.sh_offset, table.sh_size));
    if (offset >= table.sh_size) damaged("a name outside its table");
    const std::size_t available = table.sh_size - offset;
    const std::size_t length = strnlen(text + offset, available);
    if (length == available) damaged("a name without a terminating zero");
    return {text + offset, length};
  }

 private:
  void check(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) damaged("an offset outside the file");
  }
  std::span<const std::uint8_t> bytes_;
};

/// Memory that is first written, then executed. It is never writable and executable at once.
class CodeMemory {
 public:
  explicit CodeMemory(std::size_t bytes) : bytes_(bytes) {
    base_ = static_cast<std::uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw CompileError(fmt::format("cannot map {} for machine code", counted(bytes, "byte")));
  }
  CodeMemory(const CodeMemory&) = delete;
  ~CodeMemory() { munmap(base_, bytes_); }
  std::uint8_t* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  void seal() {
    __builtin___clear_cache(reinterpret_cast<char*>(base_), reinterpret_cast<char*>(base_ + bytes_));  // nothing on x86
    if (mprotect(base_, bytes_, PROT_READ | PROT_EXEC) != 0) throw CompileError("cannot make machine code executable");
  }

 private:
  std::uint8_t* base_;
  std::size_t bytes_;
};

class Loaded final : public LoadedCode {
 public:
  Loaded(std::unique_ptr<CodeMemory> memory, CpuEntry code) : memory_(std::move(memory)), entry_(code) {}
  CpuEntry entry() const override { return entry_; }

 private:
  std::unique_ptr<CodeMemory> memory_;
  CpuEntry entry_;
};

constexpr std::uint64_t kMaxImage = std::uint64_t{64} << 20;
/// A stub: a jump to any address (Architecture::jump), then the address.
constexpr std::uint64_t kStubBytes = 16, kStubAddress = 8;

class Loader {
 public:
  explicit Loader(const Binary& binary) : image_(binary.image), entry_name_(binary.entry) {
    read_tables();
    place_sections();
  }

  std::shared_ptr<LoadedCode> load() {
    memory_ = std::make_unique<CodeMemory>(total_);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (place_[i] == kNowhere || section.sh_type == SHT_NOBITS || section.sh_size == 0) continue;
      std::memcpy(memory_->base() + place_[i], image_.at(section.sh_offset, section.sh_size), section.sh_size);
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_REL) damaged("relocations without addends");
      if (section.sh_type == SHT_RELA) relocate(section);
    }
    const CpuEntry entry = find_entry();
    // An object of another architecture is linked before it is refused, so that linking can be tested on any machine.
    if (architecture_ != llvm::host_architecture())
      throw CompileError(fmt::format("the machine code of kernel {} is for {}", entry_name_, architecture_->name));
    memory_->seal();
    return std::make_shared<Loaded>(std::move(memory_), entry);
  }

 private:
  static constexpr std::uint64_t kPage = 4095;  // the page of an ADRP instruction, for any page size of the system
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

  void read_tables() {
    const Elf64_Ehdr header = image_.read<Elf64_Ehdr>(0, 1)[0];
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_type != ET_REL)
      damaged("not a relocatable object");
    architecture_ = llvm::architecture_of_machine(header.e_machine);
    if (!architecture_) damaged(fmt::format("an object of machine {}", header.e_machine));
    if (header.e_shentsize != sizeof(Elf64_Shdr)) damaged("section headers of an unknown size");
    sections_ = image_.read<Elf64_Shdr>(header.e_shoff, header.e_shnum);
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (section.sh_link >= sections_.size()) damaged("a symbol table without names");
      symbols_ = image_.read<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
      names_ = sections_[section.sh_link];
    }
  }

  void place_sections() {
    place_.assign(sections_.size(), kNowhere);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (!(section.sh_flags & SHF_ALLOC)) continue;
      if ((section.sh_flags & SHF_WRITE) && section.sh_size) damaged("writable data in a kernel");
      const std::uint64_t align = std::max<std::uint64_t>(section.sh_addralign, 1);
      if (align > 4096 || (align & (align - 1))) damaged("an impossible alignment");
      if (section.sh_size > kMaxImage) damaged("a section too large");
      total_ = (total_ + align - 1) & ~(align - 1);
      place_[i] = total_;
      total_ += section.sh_size;
      if (total_ > kMaxImage) damaged("too large");
    }
    stubs_ = (total_ + kStubBytes - 1) & ~(kStubBytes - 1);
    total_ = stubs_ + kStubBytes * symbols_.size();
    if (total_ == 0 || total_ > 2 * kMaxImage) damaged("empty or too large");
  }

  /// Returns a symbol's address in this process. An undefined symbol must be a function of the library's table.
  std::uint64_t address(std::size_t number) const {
    const Elf64_Sym& symbol = symbols_[number];
    if (symbol.st_shndx == SHN_UNDEF) {
      const std::string_view name = image_.string(names_, symbol.st_name);
      const void* function = llvm::library_function(name);
      if (!function) throw CompileError(fmt::format("a kernel calls \"{}\", which is not a function it may call", name));
      return reinterpret_cast<std::uint64_t>(function);
    }
    if (symbol.st_shndx >= sections_.size() || place_[symbol.st_shndx] == kNowhere) damaged("a symbol of no section");
    if (symbol.st_value > sections_[symbol.st_shndx].sh_size) damaged("a symbol outside its section");
    return reinterpret_cast<std::uint64_t>(memory_->base()) + place_[symbol.st_shndx] + symbol.st_value;
  }

  /// Returns the symbol's stub and fills it: code that jumps to the symbol, and a word with the symbol's address.
  std::uint64_t stub(std::size_t number) const {
    std::uint8_t* const code = memory_->base() + stubs_ + kStubBytes * number;
    const std::uint64_t target = address(number);
    std::memcpy(code, architecture_->jump.data(), architecture_->jump.size());
    std::memcpy(code + kStubAddress, &target, sizeof target);
    return reinterpret_cast<std::uint64_t>(code);
  }

  void relocate(const Elf64_Shdr& table) {
    if (table.sh_info >= sections_.size()) damaged("relocations of no section");
    if (place_[table.sh_info] == kNowhere) return;  // the section is not loaded
    const std::uint64_t available = sections_[table.sh_info].sh_size;
    std::uint8_t* const base = memory_->base() + place_[table.sh_info];
    if (sections_[table.sh_info].sh_type == SHT_NOBITS) damaged("relocations of an empty section");
    for (const Elf64_Rela& entry : image_.read<Elf64_Rela>(table.sh_offset, table.sh_size / sizeof(Elf64_Rela))) {
      const std::size_t number = ELF64_R_SYM(entry.r_info);
      const std::uint32_t type = ELF64_R_TYPE(entry.r_info);
      if (type == 0) continue;  // R_X86_64_NONE, R_AARCH64_NONE
      if (number >= symbols_.size()) damaged("a relocation against no symbol");
      const auto rule =
          std::find_if(architecture_->relocations.begin(), architecture_->relocations.end(), [&](const auto& known) { return known.type == type; });
      if (rule == architecture_->relocations.end()) damaged(fmt::format("relocation type {} is not known", type));
      const std::uint64_t width = rule->fix == Fix::word64 ? 8 : 4;
      if (available < width || entry.r_offset > available - width) damaged("a relocation outside its section");
      std::uint8_t* const place = base + entry.r_offset;
      const std::uint64_t here = reinterpret_cast<std::uint64_t>(place);
      const std::uint64_t addend = static_cast<std::uint64_t>(entry.r_addend);
      const bool outside = symbols_[number].st_shndx == SHN_UNDEF;
      const auto target = [&] { return (outside ? stub(number) : address(number)) + addend; };
      switch (rule->fix) {
        case Fix::word64: put<std::uint64_t>(place, address(number) + addend); break;
        case Fix::distance32: put(place, static_cast<std::int32_t>(within(target() - here, 32))); break;
        case Fix::got32: put(place, static_cast<std::int32_t>(within(stub(number) + kStubAddress + addend - here, 32))); break;
        case Fix::branch26: put_bits(place, 26, 0, static_cast<std::uint64_t>(within(target() - here, 28)) >> 2); break;
        case Fix::page21: {
          const auto pages = static_cast<std::uint64_t>(within((target() & ~kPage) - (here & ~kPage), 33)) >> 12;
          put_bits(place, 2, 29, pages);
          put_bits(place, 19, 5, pages >> 2);
          break;
        }
        case Fix::low12: {
          const std::uint64_t low = target() & kPage;
          if (low & ((std::uint64_t{1} << rule->shift) - 1)) damaged("an unaligned address");
          put_bits(place, 12 - rule->shift, 10, low >> rule->shift);
          break;
        }
      }
    }
  }

  template <class T> static void put(std::uint8_t* place, T value) { std::memcpy(place, &value, sizeof value); }
  /// Sets this many bits of an instruction, from bit `first` on.
  static void put_bits(std::uint8_t* place, int bits, int first, std::uint64_t value) {
    std::uint32_t instruction;
    std::memcpy(&instruction, place, sizeof instruction);
    const std::uint32_t mask = ((1U << bits) - 1) << first;
    put(place, (instruction & ~mask) | (static_cast<std::uint32_t>(value << first) & mask));
  }
  /// Returns the distance, which must fit in a signed number of this many bits.
  static std::int64_t within(std::uint64_t distance, int bits) {
    const auto signed_distance = static_cast<std::int64_t>(distance);
    if (signed_distance >> (bits - 1) != signed_distance >> 63) damaged(fmt::format("a distance beyond {} bits", bits));
    return signed_distance;
  }

  CpuEntry find_entry() const {
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      const Elf64_Sym& symbol = symbols_[i];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      if (image_.string(names_, symbol.st_name) != entry_name_) continue;
      const std::uint64_t code = address(i);
      const Elf64_Shdr& section = sections_[symbol.st_shndx];
      if (!(section.sh_flags & SHF_EXECINSTR) || symbol.st_value >= section.sh_size) damaged("an entry that is not code");
      return reinterpret_cast<CpuEntry>(code);
    }
    damaged(fmt::format("no function {}", entry_name_));
  }

  Image image_;
  std::string entry_name_;
  const llvm::Architecture* architecture_ = nullptr;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  Elf64_Shdr names_{};
  std::vector<std::uint64_t> place_;  // offset of each section in the mapping
  std::uint64_t stubs_ = 0, total_ = 0;
  std::unique_ptr<CodeMemory> memory_;
};

}  // namespace

std::shared_ptr<LoadedCode> load_object(const Binary& binary) { return Loader(binary).load(); }

}  // namespace sinter::jit
