// FileKind: the kind of a file in a mount. It decides how the file is read, how its entry is made,
// and why the file may be unreadable.
//
// An id determines the kind of its file. For a chunk the epoch decides, for a document the view and
// the document number. LOOKUP derives the kind from the object that it found, and READ derives it
// from the id; both use this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "zarrcore/hierarchy/shared_documents.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

enum class FileKind : uint8_t {
  kNone,           // a folder
  kStoredChunk,    // an object in the store, passed through or decoded
  kFillChunk,      // a file of fill values, because the chunk is not in the store
  kDocument,       // a metadata file made from one node
  kMadeDocument,   // a metadata file made from several nodes
  kAssembledFile,  // a file made from the chunks of arrays
  kStoredFile,     // an object in the store that is not part of Zarr
  // A chunk or metadata file whose content cannot be served. Reading the file fails with the
  // reason.
  kUnreadable,
};

/// Epochs that no version has: kUnreadableEpoch for the inode of a chunk that cannot be read,
/// kFillEpoch for the inode of a missing chunk that is shown as a file of fill values.
inline constexpr uint16_t kUnreadableEpoch = 0xffff;
inline constexpr uint16_t kFillEpoch = 0xfffe;

/// The document number of a consolidated document (NodeView::consolidated).
inline constexpr size_t kConsolidatedDocument = kMaxDocuments - 1;
/// The document number of a stored file, in every view that shows it.
inline constexpr size_t kStoredFileDocument = kMaxDocuments - 2;

/// True if a view shows nodes, or groups of nodes, as files.
[[nodiscard]] inline bool HasFiles(size_t view) {
  return AllViews()[view]->file_of() != FileOf::kNothing;
}

/// The kind of the file with the number `document` of the node at `path`, if it can be read.
[[nodiscard]] inline FileKind KindOfDocument(std::string_view path, size_t view, size_t document) {
  const bool is_of_texts = document == kTextDocument || document == kTextChunk;
  if (is_of_texts || HasFiles(view)) return FileKind::kAssembledFile;
  if (document == kStoredFileDocument) return FileKind::kStoredFile;
  const bool is_made =
      document == kConsolidatedDocument || SharedDocuments::DependsOnSiblings(path, view, document);
  return is_made ? FileKind::kMadeDocument : FileKind::kDocument;
}

/// The kind of a chunk whose inode has this epoch.
[[nodiscard]] constexpr FileKind KindOfChunk(uint16_t epoch) {
  if (epoch == kUnreadableEpoch) return FileKind::kUnreadable;
  return epoch == kFillEpoch ? FileKind::kFillChunk : FileKind::kStoredChunk;
}

/// The number of the document that determines the version of `document`. The two files of an array
/// of strings share their versions.
[[nodiscard]] inline size_t VersionedDocument(size_t document) {
  return document == kTextChunk ? kTextDocument : document;
}

}  // namespace zarrfs
