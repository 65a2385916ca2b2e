// IdFile: keeps the ids of a mount in a file, so the next mount of the store gives files the same
// inode numbers. Backups need this, and so do NFS clients, whose handles outlive a restart of the
// server.
//
// While a mount is served, its ids are in the memory file of IdJournal. Save() copies them to the
// file: the worker saves once a second, and the keeper once more when no more workers will be
// started. So a full or slow disk delays no request, and truncating the file crashes no process. A
// new mount continues with the ids in the file. If the last save is missing, because the keeper was
// killed, the ids of the last second are unknown and may be assigned to other files. Then all files
// get a new generation, so the kernel refuses old handles.
//
// The file begins with a head of kHeadBytes, followed by the records of the journal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "fs/ids/id_journal.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class IdFile {
 public:
  static constexpr uint64_t kHeadBytes = IdJournal::kHeaderBytes;

  /// Opens and locks the file, or creates it, readable only by its owner. If another mount has
  /// locked the file, waits up to `timeout` for that mount to end. Fails, and changes nothing, if
  /// the file is still locked, is not a regular file of this user, or is neither empty nor a file
  /// of ids.
  [[nodiscard]] static Result<Descriptor> Open(const std::string& path,
                                               std::chrono::milliseconds timeout);

  /// Copies the ids in the file to the empty memory file `journal`, if they fit this program, and
  /// marks the ids in the file as incomplete. Returns a message for the user, or "" if nothing was
  /// lost.
  [[nodiscard]] static Result<std::string> Load(const Descriptor& file, const Descriptor& journal);

  /// `journal` is the memory file that the workers use.
  IdFile(Descriptor file, Descriptor journal)
      : file_(std::move(file)), journal_(std::move(journal)) {}

  /// Copies the new records of the journal to the file. `last`: the journal will not change again.
  /// If earlier records have changed (IdJournal::Header::rewrites), marks the file as unusable
  /// until all records are on the disk, so a usable file never mixes old and changed records. Not
  /// thread-safe.
  [[nodiscard]] Result<void> Save(bool last = false);

 private:
  // Copies the records that the header `journal` covers. False if records have changed during the
  // copy.
  Result<bool> SaveRecords(const IdJournal::Header& journal);

  Descriptor file_;
  Descriptor journal_;
};

}  // namespace zarrfs
