#include "tools/zarrctl/stored_chunks.h"

#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kMaxNames = 100'000;  // the maximum number of listed files and folders
constexpr size_t kMaxIndexes = 1000;   // the maximum number of shard indexes that are read
constexpr size_t kMaxSizes = 10'000;   // the maximum number of objects whose sizes are requested
constexpr size_t kMaxProblems = 100;

}  // namespace

StoredChunks FindStoredChunks(const Store& store, const Node& array,
                              const StoredChunksOptions& options) {
  StoredChunks stored;
  const ChunkSource& source = *array.chunks;
  const auto add_problem = [&](const std::string& key, const Error& error) {
    ++stored.problem_count;
    if (stored.problems.size() < kMaxProblems) stored.problems.emplace_back(key, error);
  };
  size_t names = 0;
  const auto goes_on = [&] {
    return stored.is_complete = names++ < kMaxNames && !(options.is_over && options.is_over());
  };
  size_t sizes = 0;
  const auto add_size = [&](OuterIndex outer) {
    const auto info = sizes++ < kMaxSizes ? store.Stat(source.ObjectKey(outer))
                                          : Fail(ErrorCode::kTooLarge, "enough");
    if (info) stored.bytes += info->size();
    if (!info && info.error().code != ErrorCode::kNotFound) stored.has_all_sizes = false;
  };
  size_t indexes = 0;
  const auto add_object = [&](OuterIndex outer) {
    if (!goes_on()) return false;
    if (options.add_sizes) add_size(outer);
    if (!source.layout().is_sharded()) {
      ++stored.count;
      return true;
    }
    if (!options.read_indexes) return true;
    if (indexes++ == kMaxIndexes) return stored.is_complete = false;
    std::optional<Error> error;
    ChunkCursor cursor(source, outer);
    while (const ListedChunk* next = cursor.Next()) {
      ++stored.count;
      if (!next->location && !error) error = next->location.error();
    }
    if (!cursor.status()) error = cursor.status().error();
    if (error) add_problem(source.ObjectKey(outer), *error);
    return true;
  };
  (void)source.VisitOuter({}, add_object,
                          {.on_folder = [&](const std::string&) { return goes_on(); },
                           .on_unreadable =
                               [&](const std::string& key, const Error& error) {
                                 add_problem(key, error);
                                 return goes_on();
                               }});
  stored.has_all_sizes = stored.has_all_sizes && stored.is_complete && stored.problem_count == 0;
  return stored;
}

bool MakesFillChunksAnyway(const Node& array, size_t view) {
  ViewContext keeping;
  keeping.below_ome = array.from_parent.below_ome;
  keeping.fill = FillPolicy::kKeep;
  keeping.is_in_root = array.path.find('/') == std::string::npos;
  const auto shown = AllViews()[view]->ShowArray(*array.array(), array.chunks->layout(), keeping);
  return shown && shown->fill_chunk != nullptr;
}

}  // namespace zarrfs::ctl
