// Where memory runs out, a request fails, and nothing else does: each allocation of look-ups,
// listings and reads fails once, in a program of its own whose operator new can. (Not while
// metadata are read: where the JSON library is out of memory for a few bytes, the process may end.)
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "fs/tree/tree.h"
#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/codec/registry.h"

namespace {

// Allocations of this thread until the one that fails; 0: none does.
thread_local uint64_t until_failure = 0;
thread_local bool is_counting = false;  // not what the test allocates for itself

void* Allocate(size_t size) {
  if (is_counting && until_failure > 0 && --until_failure == 0) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

void* AllocateOrThrow(size_t size) {
  void* const memory = Allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return AllocateOrThrow(size); }
void* operator new[](size_t size) { return AllocateOrThrow(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace zarrfs::out_of_memory_test {
namespace {

// What somebody sees: a line for each name and each content. "error" where there was one.
using Seen = std::map<std::string, std::string>;

std::string BytesOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::shared_ptr<FakeStore> MakeStore() {
  auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}})");
  store->Put("sharded/zarr.json",
             ArrayText("[8]", "[4]", Sharding("[2]", std::string(kBytesCodec)),
                       R"({"attributes": {"long": ["many", "values", 1, 2.5, null]},
                           "dimension_names": ["x"]})"));
  store->Put("sharded/c/0", ShardBytes({"ab", std::nullopt}));
  store->Put("sharded/c/1", ShardBytes({"cd", "ef"}));
  // Decoded in netcdf.
  const auto zstd = MakeZstdCodec(CodecSpec{"zstd"});
  Bytes elements(64, std::byte{7});
  store->Put("plain/zarr.json", ArrayText("[100]", "[64]", R"({"name": "bytes"}, {"name": "zstd"})",
                                          R"({"fill_value": 3})"));
  store->Put("plain/c/0", BytesOf(*(*zstd)->Encode(elements)));
  store->Put("old/.zarray", R"({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1",
      "compressor": null, "fill_value": 0, "order": "C", "filters": null})");
  store->Put("old/.zattrs", R"({"b": [1, 2, 3]})");
  store->Put("old/0", "gh");
  return store;
}

class Reader {
 public:
  explicit Reader(Tree& tree) : tree_(tree) {}

  Seen See() {
    Walk(kRootId, "", 0);
    return std::move(seen_);
  }

 private:
  // What `ask` gives; nullopt, and the error is noted, if it fails in either way.
  template <typename Ask>
  auto Try(const std::string& what, Ask ask)
      -> std::optional<typename decltype(ask())::value_type> {
    try {
      is_counting = true;
      auto answer = ask();
      is_counting = false;
      if (answer) return std::move(*answer);
      const ErrorCode code = answer.error().code;
      // Without a failed allocation there is no error; and none means that there is nothing.
      EXPECT_EQ(until_failure, 0U) << what << ": " << answer.error().message;
      EXPECT_TRUE(code != ErrorCode::kNotFound && code != ErrorCode::kNotADirectory) << what;
    } catch (const std::bad_alloc&) {
      is_counting = false;
    }
    Note(what, "error");
    return std::nullopt;
  }

  void Note(const std::string& what, const std::string& text) { seen_[what] = text; }

  void Walk(NodeId folder, const std::string& path, int depth) {
    const auto names = Try(path + "/", [&] { return List(folder); });
    if (!names) return;
    for (const std::string& name : *names) {
      if (name == "." || name == "..") continue;
      const std::string below = path + "/" + name;
      const auto entry = Try(below, [&] { return tree_.LookUp(folder, name); });
      if (!entry) continue;
      if (entry->id == 0) {
        Note(below, "absent");
      } else if (S_ISDIR(entry->attributes.st_mode)) {
        if (depth < 6) Walk(entry->id, below, depth + 1);
      } else {
        ReadFile(entry->id, below);
      }
    }
    if (depth == 1) LookUpAbsent(folder, path);
  }

  void LookUpAbsent(NodeId folder, const std::string& path) {
    const auto entry = Try(path + "/none", [&] { return tree_.LookUp(folder, "none"); });
    if (entry) Note(path + "/none", entry->id == 0 ? "absent" : "error");
  }

  void ReadFile(NodeId id, const std::string& path) {
    const auto text = Try(path, [&]() -> Result<std::string> {
      std::vector<std::byte> buffer(size_t{1} << 16);
      const auto piece = tree_.Read(id, 0, buffer);
      if (!piece) return Fail(piece);
      return std::string(reinterpret_cast<const char*>(piece->bytes.data()), piece->bytes.size());
    });
    if (text) Note(path, *text);
  }

  Result<std::vector<std::string>> List(NodeId id) {
    auto opened = tree_.OpenFolder(id);
    if (!opened) return Fail(opened);
    std::vector<std::string> names;
    uint64_t cookie = 0;
    const auto add = [&](const std::string& name, const Entry&, uint64_t next) {
      names.push_back(name);
      cookie = next;
      return true;
    };
    const auto listed = tree_.List(*opened->folder, cookie, add);
    if (!listed) return Fail(listed);
    return names;
  }

  Tree& tree_;
  Seen seen_;
};

std::unique_ptr<Tree> OpenTree(const std::shared_ptr<FakeStore>& store) {
  TreeOptions options;
  options.immutable = true;
  auto tree = Tree::Open(store, options);
  EXPECT_TRUE(tree);
  return tree ? *std::move(tree) : nullptr;
}

// What was seen while one allocation failed is right, or an error.
void ExpectRightOrError(const Seen& seen, const Seen& right, uint64_t n) {
  for (const auto& [what, text] : seen) {
    if (text == "error") continue;
    const auto found = right.find(what);
    // (Where an index cannot be read, all chunks are listed.)
    if (text == "absent" && found == right.end()) continue;
    ASSERT_NE(found, right.end()) << what << " at allocation " << n;
    ASSERT_EQ(text, found->second) << what << " at allocation " << n;
  }
}

class OutOfMemory : public testing::Test {
 protected:
  OutOfMemory() { spdlog::set_level(spdlog::level::off); }
};

TEST_F(OutOfMemory, EachAllocationThatFailsIsAnErrorOrTheRightAnswer) {
  const auto store = MakeStore();
  Seen right;
  uint64_t errors = 0;
  // Steps that have no common factor with how often something repeats, after the first thousand.
  for (uint64_t n = 1;; n += n < 1000 ? 1 : 37) {
    const auto tree = OpenTree(store);
    const Seen before = Reader(*tree).See();
    if (n == 1) right = before;
    ASSERT_EQ(before, right);
    tree->SetCacheSizes(0, 0);  // indexes and chunks are read again
    until_failure = n;
    const Seen seen = Reader(*tree).See();
    const bool has_failed = std::exchange(until_failure, 0) == 0;
    ExpectRightOrError(seen, right, n);
    if (HasFatalFailure()) return;
    for (const auto& [what, text] : seen) errors += text == "error" ? 1 : 0;
    // What failed is not remembered.
    ASSERT_EQ(Reader(*tree).See(), right) << "after allocation " << n;
    if (!has_failed) break;
  }
  ASSERT_GT(right.size(), 40U);
  EXPECT_EQ(right.at("/v3/sharded/c/0"), "ab");
  EXPECT_EQ(right.at("/v2/old/0"), "gh");
  EXPECT_EQ(right.at("/netcdf/plain/0"), std::string(64, '\7'));
  EXPECT_GT(errors, 100U);
}

TEST_F(OutOfMemory, DocumentsAreDestroyedWithoutMemory) {
  for (const uint64_t allocations : {1, 2, 3, 5, 8}) {
    std::optional<Json> json =
        *ParseJson(R"({"a": [[1, [2, [3]]], {"b": {"c": [4]}}]})", "literal");
    until_failure = allocations;
    is_counting = true;
    json.reset();
    is_counting = false;
    until_failure = 0;
  }
}

}  // namespace
}  // namespace zarrfs::out_of_memory_test
