// OutputFile: a file that appears whole or not at all, at a name that another may have until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs::ctl {

class OutputFile {
 public:
  /// In `folder`, under a name of its own (NameOfPartialFile()) until CommitAs(). Removed if it is
  /// destroyed before.
  [[nodiscard]] static Result<OutputFile> Create(const std::string& folder);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Writes behind what there is. Memory is one buffer, whatever the size.
  [[nodiscard]] Result<void> Append(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> Append(std::string_view text) {
    return Append(std::as_bytes(std::span(text)));
  }
  /// Bytes so far.
  [[nodiscard]] uint64_t size() const { return written_ + buffer_.size(); }
  /// Drops what is behind the first `size` bytes.
  [[nodiscard]] Result<void> ShrinkTo(uint64_t size);

  /// Brings it to the disk and gives it its name (an absolute path), in the place of what has that.
  [[nodiscard]] Result<void> CommitAs(const std::string& path);

 private:
  OutputFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] Result<void> Flush();

  Descriptor fd_;
  std::string path_;  // "" once it has its name
  std::string buffer_;
  uint64_t written_ = 0;
};

/// A file with these bytes.
[[nodiscard]] Result<void> WriteFile(const std::string& partial_folder, const std::string& path,
                                     std::string_view bytes);

/// Removes what runs that were killed have left in a folder: files with such names that no process
/// writes, as far as locks tell.
void RemoveAbandonedFiles(const std::string& folder);

/// ".zarrctl-partial-…": another one each time, on all machines that write into one folder.
[[nodiscard]] std::string NameOfPartialFile();
[[nodiscard]] bool IsPartialFile(std::string_view name);

}  // namespace zarrfs::ctl
