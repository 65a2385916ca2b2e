// Makes references to the chunks of one array, one for each chunk file that a view would show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tools/zarrctl/refs/reference_writer.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// Makes the URLs by which readers find the store's objects. In a URL, a prefix replaces the
/// beginning of the object's key: the folder that is named on the command line.
class ObjectUrls {
 public:
  /// `prefix`: the URL of the folder with the key `base`. If it is a web address, keys are
  /// percent-encoded.
  ObjectUrls(std::string prefix, std::string base);
  /// For a store whose objects are all in one file. `url`: the URL of that file.
  explicit ObjectUrls(std::string url) : prefix_(std::move(url)), is_one_file_(true) {}
  /// Returns the URL of an object, whose key must be below `base`.
  [[nodiscard]] std::string Of(std::string_view key) const;

 private:
  std::string prefix_;  // without a slash at the end
  std::string base_;
  bool is_escaped_ = false;
  bool is_one_file_ = false;
};

struct ReferencesMade {
  std::string left_out;  // why references omit the array; "" if they include it
  uint64_t chunks = 0;   // the number of references
  uint64_t inlined = 0;  // the number of references that contain the bytes of the chunk
};

/// Passes all chunk files of an array of `store` in view number `view` to `writer`. The array's
/// `chunks` must not be null, and the view must show the array. Chunks that are not byte ranges of
/// the store are passed as bytes, up to `max_decoded` bytes in total. Fails if a part of the array
/// cannot be read, and with kInterrupted if StopRequested().
[[nodiscard]] Result<ReferencesMade> ReferToChunks(const Store& store, const Node& node,
                                                   size_t view, const ObjectUrls& urls,
                                                   uint64_t max_decoded, ReferenceWriter& writer);

}  // namespace zarrfs::ctl
