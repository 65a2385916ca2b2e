// Source: the parsed name of a store. zarrfs and zarrctl open stores only through a Source.
//
//   /data/ocean.zarr                  a folder
//   /data/all.zip/ocean.zarr          a folder in a zip file (.zip, or OME-Zarr's .ozx)
//   s3://bucket/data/ocean.zarr       the keys of a bucket that begin with data/ocean.zarr/
//   https://host/ocean.zarr           the objects of a web server below this address
//   https://host/all.zip/ocean.zarr   a folder in a zip file on a web server
//   /data/ocean.icechunk              a commit of an Icechunk repository (SourceAccess::at), which
//                                     may also be in a bucket, on a web server or in a zip file
//   /data/ocean.json                  a kerchunk reference set, which may also be in a bucket or on
//                                     a web server
//
// A source consists of a *place* and at most one *layer* over the place. An Icechunk repository in
// a zip file or behind a network is opened over these.
//
//   place   where the stored objects are (PlaceKind). The place decides how the objects are read:
//           from a folder in a sandbox, or through a fetcher, the only process with network access.
//   layer   makes the store from the store of the place (LayerKind). A layer does not depend on the
//           kind of place.
//
// A folder is recognized as an Icechunk repository by its contents. Local folders are examined
// before they are opened; all other places, and zip files, after the store has been made.
//
// To add a kind of layer, add a row to kLayers in source.cc and, in its own folder, a function that
// makes a Store from a Store, like OpenZipStore(). To add a kind of place, add a PlaceKind and a
// function in source.cc that opens it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/icechunk/virtual_chunks.h"
#include "zarrcore/icechunk/virtual_folders.h"
#include "zarrcore/icechunk/virtual_prefix.h"
#include "zarrcore/local/local_store.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/remote_store.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

enum class PlaceKind : uint8_t {
  kFolder,     // a local folder
  kBucket,     // a bucket, which can list its objects
  kWebServer,  // a web server, which cannot list its objects
};

struct LayerKind;

/// The parts of a source.
struct Location {
  std::string folder;                // path or address of the folder with the objects or `file`
  std::string file = {};             // the only object that the layer reads; "" for any object
  const LayerKind* layer = nullptr;  // null if the source has no layer
  std::string inside = {};           // the folder in the zip file; "" for its root

  /// The path or address of `file`, or of `folder` if `file` is "". A sandboxed worker may read
  /// only below this path, and a fetch process requests only objects below this address.
  [[nodiscard]] std::string path() const;
};

class Source {
 public:
  Source() = default;
  explicit Source(std::string_view text);

  /// The source as the user wrote it, for messages.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] PlaceKind place() const { return place_; }
  /// True if a fetch process reads the objects over a network.
  [[nodiscard]] bool needs_fetcher() const { return place_ != PlaceKind::kFolder; }
  /// True if the source is written as an address, even one with an unknown scheme.
  [[nodiscard]] bool is_address() const { return text_.find("://") != std::string::npos; }
  /// True if the source names the same store in every working directory.
  [[nodiscard]] bool is_absolute() const { return needs_fetcher() || text_.starts_with('/'); }

  /// Finds the place and the layer. Examines local files that may belong to a layer. A path that
  /// does not exist or is not a store counts as a folder. `folder`: Location::folder, if it was
  /// opened earlier; the path is then not looked up again.
  [[nodiscard]] Location Locate(const Descriptor& folder = {}) const;

  /// Parses the address of the store for a fetch process. Returns the errors of
  /// ParseRemoteSource(), also for a local folder.
  [[nodiscard]] Result<RemoteSource> Remote(const RemoteOptions& options) const;
  /// Like Remote(), but includes `prefixes`, below which virtual chunks may be read. nullopt if
  /// neither this source nor a prefix needs a fetch process.
  [[nodiscard]] Result<std::optional<RemoteSource>> Fetched(
      const RemoteOptions& options, std::span<const VirtualPrefix> prefixes) const;

  bool operator==(const Source&) const = default;

 private:
  std::string text_;
  PlaceKind place_ = PlaceKind::kFolder;
};

/// Returns the name of a store: the last component of `source` without the suffixes .zip, .ozx,
/// .json, .zarr and .icechunk, which must be in lower case. "" if there is no component.
[[nodiscard]] std::string NameOfStore(std::string_view source);

/// How often a zip file or reference set on a server, or a file with virtual chunks, is checked for
/// changes.
inline constexpr Age kFileAge = std::chrono::milliseconds(500);

/// How often a followed branch of an Icechunk repository is read if it cannot be watched; see
/// Store::StartWatching().
inline constexpr Age kFollowPeriod = std::chrono::seconds(10);

/// What a process needs to open a store. Each kind of place uses only the members that are for it.
struct SourceAccess {
  // Options for local folders. Their policies for symbolic links and file modes do not apply to a
  // zip file or reference set, which may itself be a symbolic link.
  LocalStoreOptions local = {};
  Descriptor folder = {};  // see Source::Locate()

  // For places with a fetcher, and for virtual_prefixes that are not local.
  RemoteOptions remote = {};  // OpenSource() reads the file list_file
  // The file RemoteOptions::list_file, if it is already open; used only during OpenSource().
  const Descriptor* key_list = nullptr;
  Descriptor fetch_socket = {};  // required, like fetch_memory, if NeedsFetcher() is true
  // The shared memory of the FetchChannel; used only during OpenSource().
  const Descriptor* fetch_memory = nullptr;
  /// Called on another thread with each message that the fetch process sends for the log.
  std::function<void(std::string_view)> on_notice = {};
  RemoteStoreOptions shown = {};  // OpenSource() sets its members name and is_listed
  Age max_age = kFileAge;         // see kFileAge
  /// How often a branch of an Icechunk repository is read if it cannot be watched.
  Age period = kFollowPeriod;

  /// The commit of an Icechunk repository in the form that ParseIcechunkAt() parses, or
  /// kAllOfIcechunk. "" for the branch main.
  std::string at = {};

  /// The prefixes below which virtual chunks of an Icechunk repository and references of a kerchunk
  /// set may be read. Local folders are opened with the `local` options except links. The fetcher,
  /// which must have the same prefixes, fetches all other objects.
  std::vector<VirtualPrefix> virtual_prefixes = {};
};

/// The commit to open if the place holds an Icechunk repository.
struct SourceCommit {
  IcechunkAt at = {};
  bool is_all = false;    // open all commits instead of `at`
  bool is_given = false;  // true if a commit was given; a store without commits is then an error
  Age max_age{0};         // maximum age of answers about the layer's own files; see kFileAge
  Age period{};           // see SourceAccess::period
  std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks = {};
};

/// True if `source` needs a fetch process when virtual chunks may be read below `prefixes`.
[[nodiscard]] bool NeedsFetcher(const Source& source, std::span<const VirtualPrefix> prefixes);

/// Opens the store. kInvalidArgument if a commit is given for a store without commits. Returns the
/// errors of OpenLocalStore(), OpenRemoteStore() and the function that opens the layer. Starts a
/// thread if a fetch process is needed.
///
/// The store of a place behind a network is wrapped by RememberFailures(), RememberAnswers() and,
/// if it cannot be listed, ListUnlisted(), in this order; that of a single file by
/// RememberFailures() alone. A bucket that refuses listings is opened again like a web server.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenSource(const Source& source,
                                                        SourceAccess access = {});

/// Returns the folders that contain the virtual chunks of an Icechunk repository or the objects of
/// a kerchunk set; none for any other store. Fails if manifests cannot be read.
[[nodiscard]] Result<VirtualFolders> VirtualFoldersOf(const Store& store);

/// A kind of layer; see the comment at the beginning of this file.
struct LayerKind {
  std::string_view name;

  /// Finds the parts of the source except Location::layer; nullopt if the source has no layer of
  /// this kind. May examine local files, but makes no requests to servers. The first row of kLayers
  /// whose `find` returns a value applies. `folder`: see Source::Locate().
  std::optional<Location> (*find)(const Source& source, const Descriptor& folder);

  /// Makes the store from `place`, the store of the stored objects. If `location.file` is not "", a
  /// remote `place` contains only this file, and in a local `place` only this file may be read,
  /// because the sandbox may forbid the rest. kInvalidArgument if `commit.is_given` and the store
  /// cannot have commits.
  Result<std::shared_ptr<Store>> (*open)(const std::shared_ptr<Store>& place,
                                         const Location& location, const SourceCommit& commit);
};

}  // namespace zarrfs
