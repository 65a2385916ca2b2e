// FileKind: the kind of a file in a mount. It decides how the file is read, what its entry is, and
// why it may be unreadable.
//
// The id determines it: the epoch of a chunk, the view and number of a document. LOOKUP derives it
// from what it found, READ from the id; both use this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

enum class FileKind : uint8_t {
  kNone,           // a folder
  kStoredChunk,    // in the store, passed through or decoded
  kFillChunk,      // of fill values: not in the store
  kDocument,       // a metadata file of one node
  kMadeDocument,   // made from several nodes
  kAssembledFile,  // made from the chunks of arrays
  kStoredFile,     // an object that is not part of Zarr
  kUnreadable,     // replaces any of these: reading it fails with the reason
};

/// Epochs that no version has: for inodes of a chunk that cannot be read, and of a missing chunk
/// shown as a file of fill values.
inline constexpr uint16_t kUnreadableEpoch = 0xffff;
inline constexpr uint16_t kFillEpoch = 0xfffe;

/// The number, among a folder's documents, of the one named by NodeView::consolidated.
inline constexpr size_t kConsolidatedDocument = kMaxDocuments - 1;
/// The number for a stored file, which is one document in every view that has it.
inline constexpr size_t kStoredFileDocument = kMaxDocuments - 2;

/// Whether the nodes of a view are files, or groups of files.
[[nodiscard]] inline bool HasFiles(size_t view) {
  return AllViews()[view]->file_of() != FileOf::kNothing;
}

/// The kind of a readable document.
[[nodiscard]] inline FileKind KindOfDocument(std::string_view path, size_t view, size_t document) {
  const bool is_of_texts = document == kTextDocument || document == kTextChunk;
  if (is_of_texts || HasFiles(view)) return FileKind::kAssembledFile;
  if (document == kStoredFileDocument) return FileKind::kStoredFile;
  const bool is_made =
      document == kConsolidatedDocument || Hierarchy::DependsOnSiblings(path, view, document);
  return is_made ? FileKind::kMadeDocument : FileKind::kDocument;
}

/// The kind of a chunk whose inode has this epoch.
[[nodiscard]] constexpr FileKind KindOfChunk(uint16_t epoch) {
  if (epoch == kUnreadableEpoch) return FileKind::kUnreadable;
  return epoch == kFillEpoch ? FileKind::kFillChunk : FileKind::kStoredChunk;
}

/// The document that notes the versions of this one: both files of texts share one.
[[nodiscard]] inline size_t VersionedDocument(size_t document) {
  return document == kTextChunk ? kTextDocument : document;
}

}  // namespace zarrfs
