// The interface of a transport, which moves bytes between ranks. It calls no function of the library, so a module that is opened at run time can implement it.
#pragma once
#include <cstddef>
#include <vector>

namespace sinter::ranks {

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends bytes and does not wait for them to be received. Messages between two ranks with one tag arrive in the order of sending. Tags are below 32768.
  virtual void send(int peer, int tag, std::vector<std::byte> bytes) = 0;
  /// Waits for a message of this many bytes. Returns false if none has arrived after this many seconds. Throws std::runtime_error if the peer has ended or
  /// sends another number of bytes. Calls `meanwhile` several times a second while it waits; an exception of `meanwhile` ends the waiting.
  virtual bool receive(int peer, int tag, std::byte* to, std::size_t bytes, double seconds, void (*meanwhile)()) = 0;
  /// Ends all ranks, because an exception leaves the program of this rank.
  virtual void abort(const char* message) = 0;
};

/// The type of the function sinter_transport that a module exports. The function starts MPI unless it is started already.
using OpenTransport = Transport* (*)();

}  // namespace sinter::ranks
