#include "zarrcore/hierarchy/consolidated_nodes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 5> kNodeDocuments = {kZarrJson, kZarray, kZgroup, kZattrs,
                                                            kZmetadata};

class TextObject final : public Object {
 public:
  TextObject(std::string_view key, std::string text, ObjectInfo info)
      : key_(key), text_(std::move(text)), info_(std::move(info)) {}

  const ObjectInfo& info() const override { return info_; }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > text_.size() || out.size() > text_.size() - offset) {
      return Fail(ErrorCode::kDamaged, "{}: expected {} bytes from {}, found {} in all", key_,
                  out.size(), offset, text_.size());
    }
    std::ranges::copy(std::as_bytes(std::span(text_)).subspan(offset, out.size()), out.begin());
    return {};
  }

 private:
  const std::string key_;
  const std::string text_;
  const ObjectInfo info_;
};

class DocumentsOfNode final : public ForwardingStore {
 public:
  DocumentsOfNode(std::shared_ptr<const Store> store,
                  std::shared_ptr<const ConsolidatedNodes> nodes, std::string path)
      : ForwardingStore(std::move(store)), nodes_(std::move(nodes)), path_(std::move(path)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    if (!IsDocument(key)) return ForwardingStore::Stat(key);
    const auto object = Find(key);
    if (!object) return Fail(object);
    return (*object)->info();
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    if (!IsDocument(key)) return ForwardingStore::Read(key, range, out);
    auto object = Find(key);
    if (!object) return Fail(object);
    const uint64_t size = (*object)->info().size();
    const uint64_t wanted = std::min<uint64_t>(range.length, out.size());
    const uint64_t begin =
        range.from_end ? size - std::min(wanted, size) : std::min(range.offset, size);
    const auto length = static_cast<size_t>(std::min(wanted, size - begin));
    if (auto read = (*object)->Read(begin, out.first(length)); !read) return Fail(read);
    return ReadAnswer{*std::move(object), begin, length};
  }

 private:
  [[nodiscard]] bool IsDocument(std::string_view key) const {
    return std::ranges::any_of(kNodeDocuments,
                               [&](std::string_view name) { return key == JoinKey(path_, name); });
  }
  [[nodiscard]] Result<std::shared_ptr<const Object>> Find(std::string_view key) const {
    const auto text = nodes_->texts.find(key);
    if (text == nodes_->texts.end()) {
      return Fail(ErrorCode::kNotFound, "{}: not in {}", key, nodes_->document);
    }
    ObjectInfo info = nodes_->info;
    info.version.size = text->second.size();
    return std::make_shared<const TextObject>(key, text->second, std::move(info));
  }

  const std::shared_ptr<const ConsolidatedNodes> nodes_;
  const std::string path_;
};

// The member `name` of `json` if both are JSON objects. Otherwise, null.
const Json* ObjectIn(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto member = json.find(name);
  return member != json.end() && member->is_object() ? &*member : nullptr;
}

void AddTexts(const Json& json, bool is_v2, ConsolidatedNodes& nodes) {
  const Json* const consolidated = is_v2 ? &json : ObjectIn(json, "consolidated_metadata");
  const Json* const metadata =
      consolidated == nullptr ? nullptr : ObjectIn(*consolidated, "metadata");
  if (metadata == nullptr) return;
  for (const auto& [name, node] : metadata->items()) {
    const std::string key = JoinKey(nodes.group, is_v2 ? name : JoinKey(name, kZarrJson));
    if (IsValidKey(key)) nodes.texts.emplace(key, DumpJson(node));
  }
}

// Reads a document. One request suffices if its size is `expected`.
Result<WholeObject> ReadDocument(const Store& store, const std::string& key, uint64_t expected) {
  constexpr uint64_t kMaxBytes = ConsolidatedNodes::kMaxBytes;
  if (expected == 0 || expected > kMaxBytes) return ReadWhole(store, key, kMaxBytes);
  WholeObject whole;
  whole.bytes.resize(static_cast<size_t>(expected));
  auto answer =
      store.Read(key, ByteRange::At(0, expected), std::as_writable_bytes(std::span(whole.bytes)));
  if (!answer) return Fail(answer);
  if (answer->object->info().size() != expected || answer->length != expected) {
    return ReadWhole(store, key, kMaxBytes);
  }
  whole.object = std::move(answer->object);
  return whole;
}

}  // namespace

bool ConsolidatedNodes::Has(std::string_view path) const {
  return std::ranges::any_of(std::array{kZarrJson, kZarray, kZgroup}, [&](std::string_view name) {
    return texts.contains(JoinKey(path, name));
  });
}

size_t ConsolidatedNodes::bytes_in_memory() const {
  size_t bytes = 1024 + group.capacity() + document.capacity();
  for (const auto& [key, text] : texts) bytes += 128 + key.capacity() + text.capacity();
  return bytes;
}

Result<std::shared_ptr<const ConsolidatedNodes>> ReadConsolidatedNodes(const Store& store,
                                                                       const Node& group) {
  auto nodes = std::make_shared<ConsolidatedNodes>();
  nodes->group = group.path;
  nodes->document = JoinKey(group.path, group.is_v2() ? kZmetadata : kZarrJson);
  const auto whole = ReadDocument(store, nodes->document, group.is_v2() ? 0 : group.info.size());
  if (!whole && whole.error().code == ErrorCode::kTooLarge) return nodes;
  if (!whole) return Fail(whole);
  nodes->info = whole->object->info();
  const auto memory = ProcessMemory().Take(MemoryToParse(whole->bytes) + 2 * whole->bytes.size());
  if (!memory) return Fail(memory.error().code, "{}: {}", nodes->document, memory.error().message);
  const auto json = ParseJson(whole->bytes, nodes->document);
  if (json) AddTexts(*json, group.is_v2(), *nodes);
  return nodes;
}

std::shared_ptr<const Store> WithDocumentsOf(std::shared_ptr<const Store> store,
                                             std::shared_ptr<const ConsolidatedNodes> nodes,
                                             const std::string& path) {
  return std::make_shared<DocumentsOfNode>(std::move(store), std::move(nodes), path);
}

}  // namespace zarrfs
