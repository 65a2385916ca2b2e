// A local store in a temporary folder, and functions to read it in tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/local/local_store.h"

namespace zarrfs {

inline void PrintTo(const ListEntry& entry, std::ostream* out) {
  *out << entry.name << (entry.is_folder ? "/" : "") << (entry.is_refused ? " (refused)" : "");
}

namespace fs = std::filesystem;

struct LocalStoreTest : testing::Test {
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "local_store_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    outer = name;
    root = outer / "store";
    fs::create_directory(root);
  }
  void TearDown() override { fs::remove_all(outer); }

  void Write(const fs::path& key, std::string_view bytes) const {
    fs::create_directories((root / key).parent_path());
    std::ofstream(root / key, std::ios::trunc) << bytes;
  }

  // Writes a new file and renames it over the old one.
  void Replace(const fs::path& key, std::string_view bytes) const {
    Write("replacement", bytes);
    fs::rename(root / "replacement", root / key);
  }

  [[nodiscard]] std::shared_ptr<Store> Open(size_t max_open_files = 0) const {
    return OpenLocalStore(root.string(), {.max_open_files = max_open_files}).value();
  }
  [[nodiscard]] std::shared_ptr<Store> Open(std::string_view links) const {
    return OpenLocalStore(root.string(), {.links = ParseLinkPolicy(links).value()}).value();
  }

  fs::path outer, root;
};

// The bytes read, or the name of the error.
inline std::string ReadRange(const Store& store, std::string_view key, ByteRange range,
                             size_t buffer = 100) {
  std::string bytes(buffer, '?');
  const auto answer = store.Read(key, range, std::as_writable_bytes(std::span(bytes)));
  if (!answer) return std::string(ToString(answer.error().code));
  bytes.resize(answer->length);
  return bytes;
}

inline std::string ReadAll(const Store& store, std::string_view key) {
  return ReadRange(store, key, ByteRange::At(0, 100));
}

inline std::string ReadOn(const Object& object, uint64_t offset, size_t length) {
  std::string bytes(length, '?');
  const auto read = object.Read(offset, std::as_writable_bytes(std::span(bytes)));
  return read ? bytes : std::string(ToString(read.error().code));
}

inline std::shared_ptr<const Object> OpenObject(const Store& store, std::string_view key) {
  return store.Read(key, ByteRange::At(0, 0), {}).value().object;
}

inline std::vector<ListEntry> SortedList(const Store& store, std::string_view folder) {
  std::vector<ListEntry> entries = store.List(folder).value();
  std::sort(entries.begin(), entries.end(),
            [](const ListEntry& a, const ListEntry& b) { return a.name < b.name; });
  return entries;
}

struct LocalStoreMountTest : LocalStoreTest {
  void SetUp() override {
    LocalStoreTest::SetUp();
    // A private mount namespace keeps other processes away from the unserved mount. In a chroot
    // whose root is not a mount point, making "/" private fails with EINVAL, but is not needed.
    if (unshare(CLONE_NEWNS) != 0 ||
        (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 && errno != EINVAL)) {
      FAIL() << "these tests mount: run them as root";
    }
    // The new namespace has copies of all zarrfs mounts. They would keep the file systems alive
    // after the originals are unmounted.
    std::ifstream lines("/proc/self/mounts");
    for (std::string source, point, type, rest; lines >> source >> point >> type;) {
      std::getline(lines, rest);
      if (type == "fuse.zarrfs") umount2(point.c_str(), MNT_DETACH);
    }
  }
  void TearDown() override {
    if (fuse >= 0) close(fuse);  // ends the connection, so waiting requests fail
    for (auto at = mounts.rbegin(); at != mounts.rend(); ++at) umount2(at->c_str(), MNT_DETACH);
    LocalStoreTest::TearDown();
  }

  bool Mount(const fs::path& key, const char* type, const std::string& options) {
    const fs::path folder = (root / key).lexically_normal();
    fs::create_directories(folder);
    if (mount(type, folder.c_str(), type, MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
      return false;
    }
    mounts.push_back(folder);
    return true;
  }

  // Makes a zarrfs mount that no process serves, so any request to it hangs.
  bool MountUnserved(const fs::path& key) {
    fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    return fuse >= 0 && Mount(key, "fuse.zarrfs",
                              "fd=" + std::to_string(fuse) +
                                  ",rootmode=40000,user_id=0,group_id=0,default_permissions");
  }

  // Fails if `ask` hangs on the unserved mount.
  void ExpectAnswers(const std::function<void()>& ask) {
    auto asked = std::async(std::launch::async, ask);
    if (asked.wait_for(std::chrono::seconds(10)) == std::future_status::ready) return;
    close(std::exchange(fuse, -1));
    FAIL() << "a request was sent to the mount";
  }

  int fuse = -1;
  std::vector<fs::path> mounts;
};

}  // namespace zarrfs
