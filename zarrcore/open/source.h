// Source: the store that somebody names, parsed once, and the only way to open it, for zarrfs and
// zarrctl.
//
//   /data/ocean.zarr                  a folder
//   /data/all.zip/ocean.zarr          a folder in a zip file (.zip, or .ozx, as OME-Zarr has it)
//   s3://bucket/data/ocean.zarr       the keys of a bucket that begin with data/ocean.zarr/
//   https://host/ocean.zarr           the objects of a web server below this address
//   https://host/all.zip/ocean.zarr   a folder in a zip file on a web server
//   /data/ocean.icechunk              a commit of an Icechunk repository: SourceAccess::at; in
//                                     a bucket, on a web server or in a zip file likewise
//
// A source is a *place* and at most one *layer* over it:
//
//   place   where stored objects are: PlaceKind. It decides how objects are read: in a folder,
//           under rules of a sandbox; or over a fetcher, which alone has the network.
//   layer   makes the store from that of the place: LayerKind. It never asks which kind of place
//           that is.
//
// Whether a folder is an Icechunk repository is seen by looking: at a local folder before it is
// opened, at any other place, and in a zip file, when the store has been made.
//
// A new kind of layer is a row of kLayers in source.cc and a function in a room of its own, as
// OpenZipStore(), that makes a Store from a Store. A new kind of place is a PlaceKind, and a
// function in source.cc that opens it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/local/local_store.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/remote_store.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

enum class PlaceKind : uint8_t {
  kFolder,     // local
  kBucket,     // can be listed
  kWebServer,  // cannot
};

struct LayerKind;

/// A source, taken apart.
struct Location {
  std::string folder;                // of the stored objects: a path, or an address
  std::string file = {};             // the one object in it that the layer reads; "": any object
  const LayerKind* layer = nullptr;  // null: the objects are the store
  std::string inside = {};           // for a zip file: the folder in it; "": its root

  /// The file, or the folder. What the sandbox lets a worker read, and the fetcher ask for.
  [[nodiscard]] std::string path() const;
};

class Source {
 public:
  Source() = default;
  explicit Source(std::string_view text);

  /// As it was written, for messages.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] PlaceKind place() const { return place_; }
  /// Whether a process of its own fetches the objects, over a network.
  [[nodiscard]] bool needs_fetcher() const { return place_ != PlaceKind::kFolder; }
  /// Whether it is written as an address, of a scheme that may be unknown.
  [[nodiscard]] bool is_address() const { return text_.find("://") != std::string::npos; }
  /// Whether it names the same store in every working folder.
  [[nodiscard]] bool is_absolute() const { return needs_fetcher() || text_.starts_with('/'); }

  /// Finds the layer. Looks at local files that may be those of a layer; where nothing is, or
  /// something that is no store, is a folder. `folder`: Location::folder, opened before; then the
  /// path is not looked up.
  [[nodiscard]] Location Locate(const Descriptor& folder = {}) const;

  /// What a fetcher asks for: see ParseRemoteSource(), which fails for a folder.
  [[nodiscard]] Result<RemoteSource> Remote(const RemoteOptions& options) const;

  bool operator==(const Source&) const = default;

 private:
  std::string text_;
  PlaceKind place_ = PlaceKind::kFolder;
};

/// How long ago a server may have been asked whether the one object of a layer has changed.
inline constexpr Age kZipAge = std::chrono::milliseconds(500);

/// The same of a branch that is followed (Store::StartWatching).
inline constexpr Age kFollowPeriod = std::chrono::seconds(10);

/// How a process reaches a store. Each kind of place has its part; the other is not looked at.
struct SourceAccess {
  // Folders. Links and modes (LocalStoreOptions) are those of stored objects, not of the one file
  // of a layer: whoever names that may mean a symbolic link, and names that file alone.
  LocalStoreOptions local = {};
  Descriptor folder = {};  // as in Source::Locate()

  // Places with a fetcher.
  RemoteOptions remote = {};             // list_file is read
  const Descriptor* key_list = nullptr;  // list_file, if it is open; during the call
  Descriptor fetch_socket = {};
  const Descriptor* fetch_memory = nullptr;  // of the same FetchChannel; during the call
  RemoteStoreOptions shown = {};             // name and is_listed are set by OpenSource()
  Age max_age = kZipAge;
  /// How often a branch of an Icechunk repository is looked at where it cannot be watched.
  Age period = kFollowPeriod;

  /// The commit of an Icechunk repository, as ParseIcechunkAt() takes it; "": the branch main.
  std::string at = {};
};

/// Which commit is asked for, of a repository that may be there.
struct SourceCommit {
  IcechunkAt at = {};
  bool is_given = false;  // else what is no repository is a store
  Age max_age{0};         // how old what the place says of the layer's own objects may be
  Age period{};           // SourceAccess::period
};

/// Opens the store. kInvalidArgument for a commit of what has none. Otherwise fails like
/// OpenLocalStore() or OpenRemoteStore(), and like what opens the layer. With a fetcher, starts a
/// thread.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenSource(const Source& source,
                                                        SourceAccess access = {});

/// A kind of layer.
struct LayerKind {
  std::string_view name;

  /// Takes the source apart, except Location::layer; nullopt if it names no such layer. Servers are
  /// not asked; local files may be looked at. `folder`: as in Source::Locate().
  std::optional<Location> (*find)(const Source& source, const Descriptor& folder);

  /// Makes the store from that of the place, which shows `location.file` alone if that is set.
  Result<std::shared_ptr<Store>> (*open)(std::shared_ptr<Store> place, const Location& location,
                                         const SourceCommit& commit);
};

}  // namespace zarrfs
