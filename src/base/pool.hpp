// Memory for small objects of one type that are created and freed in large numbers. Freed blocks stay on a list of the thread that freed them.
#pragma once
#include <cstddef>
#include <new>

namespace sinter {

/// Blocks of one size. They are never destroyed explicitly: see thread_blocks().
class FreeBlocks {
 public:
  explicit FreeBlocks(std::size_t bytes) : bytes_(bytes) {}
  ~FreeBlocks() {
    while (first_ != nullptr) ::operator delete(take());
  }
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;

  void* get() { return first_ != nullptr ? take() : ::operator new(bytes_); }
  void put(void* block) noexcept {
    if (count_ == kMaxFree) return ::operator delete(block);
    first_ = new (block) Block{first_};
    ++count_;
  }

 private:
  struct Block {
    Block* next;
  };
#if defined(__SANITIZE_ADDRESS__)
  static constexpr int kMaxFree = 0;  // a sanitizer finds a use after free only in memory that is not reused
#else
  static constexpr int kMaxFree = 4096;  // the maximum number of objects that a thread retains if it frees objects of another thread
#endif

  void* take() {
    Block* block = first_;
    first_ = block->next;
    --count_;
    return block;
  }

  std::size_t bytes_;
  Block* first_ = nullptr;
  int count_ = 0;
};

/// Returns the calling thread's blocks of this size. Returns null when the thread is ending; static objects may still record then.
template <std::size_t bytes> FreeBlocks* thread_blocks() {
  thread_local FreeBlocks* blocks = nullptr;  // has no destructor, so that it can be read at any time
  thread_local bool over = false;
  struct Owner {
    FreeBlocks mine{bytes};
    ~Owner() {
      blocks = nullptr;
      over = true;
    }
  };
  if (blocks == nullptr && !over) {
    thread_local Owner owner;
    blocks = &owner.mine;
  }
  return blocks;
}

/// Allocates single objects for std::allocate_shared.
template <class T> struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U> PoolAllocator(const PoolAllocator<U>&) {}

  T* allocate(std::size_t count) {
    if (FreeBlocks* blocks = count == 1 ? thread_blocks<sizeof(T)>() : nullptr) return static_cast<T*>(blocks->get());
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* object, std::size_t count) noexcept {
    if (FreeBlocks* blocks = count == 1 ? thread_blocks<sizeof(T)>() : nullptr) return blocks->put(object);
    ::operator delete(object);
  }
  template <class U> friend bool operator==(const PoolAllocator&, const PoolAllocator<U>&) { return true; }
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
};

}  // namespace sinter
