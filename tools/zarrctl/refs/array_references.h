// References to the chunks of one array, as the files of a view.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tools/zarrctl/refs/reference_writer.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// The addresses of the store's objects for readers: replaces the leading part of each key, the
/// folder named on the command line.
class ObjectUrls {
 public:
  /// `prefix`: URL of the folder with the key `base`. Web addresses have their keys escaped.
  ObjectUrls(std::string prefix, std::string base);
  /// `url`: of the file that holds all objects.
  explicit ObjectUrls(std::string url) : prefix_(std::move(url)), is_one_file_(true) {}
  /// Only for keys below `base`.
  [[nodiscard]] std::string Of(std::string_view key) const;

 private:
  std::string prefix_;  // without a slash at its end
  std::string base_;
  bool is_escaped_ = false;
  bool is_one_file_ = false;
};

struct ReferencesMade {
  std::string left_out;  // why the array must be dropped; "": it need not
  uint64_t chunks = 0;   // references
  uint64_t inlined = 0;  // of these, those with the bytes themselves
};

/// Passes all chunk files of an array of `store` in view number `view` to `writer`; its `chunks` is
/// not null and the view shows it. Chunks that are not byte ranges of the store are passed as
/// bytes, up to `max_decoded` of them in all. Fails if something of the array cannot be read, and
/// with kInterrupted once StopRequested().
[[nodiscard]] Result<ReferencesMade> ReferToChunks(const Store& store, const Node& node,
                                                   size_t view, const ObjectUrls& urls,
                                                   uint64_t max_decoded, ReferenceWriter& writer);

}  // namespace zarrfs::ctl
