// OutputFile: a file that appears under its name only when it is complete. Until then, another file
// may have that name.
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
  /// Creates a file in `folder` under a unique name (NameOfPartialFile()). The destructor removes
  /// the file unless CommitAs() succeeded.
  [[nodiscard]] static Result<OutputFile> Create(const std::string& folder);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Appends bytes. Uses one buffer of a fixed size, regardless of the size of the file.
  [[nodiscard]] Result<void> Append(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> Append(std::string_view text) {
    return Append(std::as_bytes(std::span(text)));
  }
  /// The number of bytes written so far.
  [[nodiscard]] uint64_t size() const { return written_ + buffer_.size(); }
  /// Drops everything after the first `size` bytes.
  [[nodiscard]] Result<void> ShrinkTo(uint64_t size);

  /// Syncs the file to the disk, and renames it to an absolute path. Replaces an existing file
  /// there.
  [[nodiscard]] Result<void> CommitAs(const std::string& path);

 private:
  OutputFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] Result<void> Flush();

  Descriptor fd_;
  std::string path_;  // "" once CommitAs() has succeeded
  std::string buffer_;
  uint64_t written_ = 0;
};

/// Writes `bytes` to the file `path`, through an OutputFile in `partial_folder`.
[[nodiscard]] Result<void> WriteFile(const std::string& partial_folder, const std::string& path,
                                     std::string_view bytes);

/// Removes the partial files that killed runs left in a folder. A partial file counts as left
/// behind if no process has locked it.
void RemoveAbandonedFiles(const std::string& folder);

/// A name ".zarrctl-partial-…", which is unique among all machines that write to the same folder.
[[nodiscard]] std::string NameOfPartialFile();
[[nodiscard]] bool IsPartialFile(std::string_view name);

}  // namespace zarrfs::ctl
