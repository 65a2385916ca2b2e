// Caretaker: what answers for a mount whose workers end again and again.
//
// It reads nothing of the store, so nothing there can end it, too. To readers of Zarr a name that
// cannot be looked up is an absent chunk, the fill value. So each name that a chunk or a document
// may have is a file whose READ fails with EIO; listings, and names of which nothing is known, fail
// with EIO. Nothing is absent. What the folders are it knows from the IdJournal.
//
// The folder .zarrfs has `options`, which says why. For a session with one thread.
#pragma once

#include <fuse_lowlevel.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/ids/id_journal.h"
#include "fs/ids/node_table.h"

namespace zarrfs {

class Caretaker {
 public:
  /// `only_view`: as of Nodes. `options`: the text of .zarrfs/options.
  Caretaker(std::unique_ptr<IdJournal> journal, std::optional<size_t> only_view,
            std::string options);

  /// The user data of the session is the Caretaker.
  [[nodiscard]] static const fuse_lowlevel_ops& Operations();

 private:
  struct Handlers;  // of Operations()

  // What a folder is.
  struct Place {
    enum class Kind { kRootOfViews, kNode, kChunkFolder, kStatus };
    Kind kind = Kind::kNode;
    std::optional<uint32_t> node;  // of the journal; else nothing is known of it
    size_t view = 0;
    size_t level = 0;  // kChunkFolder: coordinates of its chunks that it has
  };
  // What a name in a folder is: a folder, or a file that cannot be read.
  struct Found {
    bool is_folder = false;
    Place place = {};
    NodeId id = 0;  // if it has one
  };

  [[nodiscard]] std::optional<Place> PlaceOf(NodeId id) const;
  // nullopt: nothing is known.
  [[nodiscard]] std::optional<Found> Find(const Place& folder, const std::string& name) const;
  [[nodiscard]] std::optional<Found> FindChunk(const Place& folder, const std::string& name) const;
  // The entry of a name; nullopt: EIO.
  [[nodiscard]] std::optional<fuse_entry_param> LookUp(NodeId folder, const std::string& name);
  // Of ids that it knows.
  [[nodiscard]] std::optional<struct stat> Attributes(NodeId id) const;
  [[nodiscard]] fuse_entry_param EntryOf(NodeId id, const struct stat& attributes) const;

  const std::unique_ptr<IdJournal> journal_;
  const IdJournal::Kept kept_;
  const std::optional<size_t> only_view_;
  const std::string options_;
  NodeId unreadable_ = 0;                              // of every file that cannot be read
  NodeId options_file_ = 0;                            // of .zarrfs/options
  std::unordered_map<std::string, uint32_t> by_path_;  // nodes
  std::map<uint64_t, uint32_t> by_block_;              // likewise
  std::unordered_map<uint32_t, uint64_t> naming_;      // of arrays, by node
  // Folders that have no id of the journal's.
  std::map<std::pair<NodeId, std::string>, NodeId> made_;
  std::unordered_map<NodeId, Place> places_;
};

}  // namespace zarrfs
