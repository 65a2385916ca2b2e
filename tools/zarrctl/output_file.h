// OutputFile: a file that appears complete or not at all; another file may have its name until
// then.
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
  /// In `folder`, under a unique name (NameOfPartialFile()) until CommitAs(). Removed if it is
  /// destroyed before.
  [[nodiscard]] static Result<OutputFile> Create(const std::string& folder);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Appends. Uses one buffer of memory, regardless of the size.
  [[nodiscard]] Result<void> Append(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> Append(std::string_view text) {
    return Append(std::as_bytes(std::span(text)));
  }
  /// Bytes so far.
  [[nodiscard]] uint64_t size() const { return written_ + buffer_.size(); }
  /// Drops everything after the first `size` bytes.
  [[nodiscard]] Result<void> ShrinkTo(uint64_t size);

  /// Syncs it to the disk and renames it to an absolute path, replacing any file there.
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

/// Removes files left in a folder by runs that were killed: those with such names that no process
/// is writing, according to locks.
void RemoveAbandonedFiles(const std::string& folder);

/// ".zarrctl-partial-…": unique across all machines that write into one folder.
[[nodiscard]] std::string NameOfPartialFile();
[[nodiscard]] bool IsPartialFile(std::string_view name);

}  // namespace zarrfs::ctl
