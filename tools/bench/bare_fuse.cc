// A baseline: serves files that are byte ranges of other files, with as little work as libfuse
// allows.
//
//   bare_fuse TABLE MNT -f [--ttl=SECONDS | --immutable]
//
// TABLE has one line per file, "name path offset length". All files are in one flat folder.
// Everything that a real server must look up is known before the mount: node ids follow from line
// numbers, attributes never expire, the first open gets ENOSYS, and a read is one pread and one
// reply. Any time that a file system of chunks takes beyond this is its own overhead.
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

constexpr double kForever = 1e15;  // seconds; the kernel caps it
constexpr size_t kMaxRead = 1 << 20;
constexpr fuse_ino_t kFirstFile = FUSE_ROOT_ID + 1;

struct Range {
  std::string name;
  int fd;
  off_t offset;
  off_t length;
};

struct Table {
  std::vector<Range> files;
  std::unordered_map<std::string_view, size_t> by_name;
};

/// The options of the command line, filled in by fuse_opt_parse().
struct Options {
  char* table = nullptr;
  double ttl = 1;  // the timeout of names and negative entries, in seconds
  int immutable = 0;
};

Table table;
double name_timeout = 1;

/// Prints an error and returns false if TABLE, or a file that it names, cannot be read.
bool LoadTable(const char* table_path) {
  std::ifstream lines(table_path);
  if (!lines.is_open()) {
    std::perror(table_path);
    return false;
  }
  std::unordered_map<std::string, int> descriptors;
  Range file;
  std::string data_path;
  while (lines >> file.name >> data_path >> file.offset >> file.length) {
    auto [place, is_new] = descriptors.try_emplace(data_path, -1);
    if (is_new) place->second = open(data_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (place->second < 0) {
      std::perror(data_path.c_str());
      return false;
    }
    file.fd = place->second;
    table.files.push_back(file);
  }
  if (!lines.eof() || table.files.empty()) {
    std::fprintf(stderr, "%s: expected lines \"name path offset length\", line %zu is not one\n",
                 table_path, table.files.size() + 1);
    return false;
  }
  for (size_t i = 0; i < table.files.size(); ++i) table.by_name.emplace(table.files[i].name, i);
  return true;
}

/// The file with this node id; null for the root and for unknown ids.
const Range* FileOf(fuse_ino_t ino) {
  return ino >= kFirstFile && ino - kFirstFile < table.files.size() ? &table.files[ino - kFirstFile]
                                                                    : nullptr;
}

struct stat AttributesOf(fuse_ino_t ino) {
  struct stat attributes = {};
  attributes.st_ino = ino;
  attributes.st_nlink = 1;
  attributes.st_mode = S_IFDIR | 0555;
  if (const Range* file = FileOf(ino)) {
    attributes.st_mode = S_IFREG | 0444;
    attributes.st_size = file->length;
    attributes.st_blocks = (file->length + 511) / 512;
  }
  return attributes;
}

void Init(void* /*userdata*/, fuse_conn_info* connection) { connection->max_read = kMaxRead; }

void Lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry = {};
  entry.entry_timeout = name_timeout;
  entry.attr_timeout = kForever;
  const auto found = parent == FUSE_ROOT_ID ? table.by_name.find(name) : table.by_name.end();
  if (found != table.by_name.end()) {  // otherwise, node id 0 is a negative entry
    entry.ino = kFirstFile + found->second;
    entry.attr = AttributesOf(entry.ino);
  }
  fuse_reply_entry(req, &entry);
}

void GetAttributes(fuse_req_t req, fuse_ino_t ino, fuse_file_info* /*file*/) {
  const struct stat attributes = AttributesOf(ino);
  fuse_reply_attr(req, &attributes, kForever);
}

/// After the first ENOSYS, the kernel opens files and folders without a request.
void Open(fuse_req_t req, fuse_ino_t /*ino*/, fuse_file_info* /*file*/) {
  fuse_reply_err(req, ENOSYS);
}

void Read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, fuse_file_info* /*file*/) {
  thread_local const std::unique_ptr<char[]> buffer(new char[kMaxRead]);
  const Range* file = FileOf(ino);
  if (file == nullptr) {
    fuse_reply_err(req, EISDIR);
    return;
  }
  const off_t left = std::max<off_t>(file->length - offset, 0);
  const size_t wanted = std::min({size, kMaxRead, static_cast<size_t>(left)});
  const ssize_t got = pread(file->fd, buffer.get(), wanted, file->offset + offset);
  if (got < 0) {
    fuse_reply_err(req, errno);
  } else if (static_cast<size_t>(got) != wanted) {
    fuse_reply_err(req, EIO);
  } else {
    fuse_reply_buf(req, buffer.get(), wanted);
  }
}

void ReadDirectory(fuse_req_t req, fuse_ino_t /*ino*/, size_t size, off_t cookie,
                   fuse_file_info* /*file*/) {
  std::vector<char> page(size);
  size_t used = 0;
  for (auto i = static_cast<size_t>(cookie); i < table.files.size(); ++i) {
    const struct stat attributes = AttributesOf(kFirstFile + i);
    const size_t needed =
        fuse_add_direntry(req, page.data() + used, size - used, table.files[i].name.c_str(),
                          &attributes, static_cast<off_t>(i + 1));
    if (needed > size - used) break;
    used += needed;
  }
  fuse_reply_buf(req, page.data(), used);
}

/// Takes the first argument that is not an option as TABLE, and leaves the others to libfuse.
int TakeTable(void* options, const char* arg, int key, fuse_args* /*args*/) {
  auto* own = static_cast<Options*>(options);
  if (key != FUSE_OPT_KEY_NONOPT || own->table != nullptr) return 1;
  own->table = strdup(arg);
  return own->table != nullptr ? 0 : -1;
}

int Serve(fuse_args* args, const fuse_cmdline_opts& command) {
  fuse_lowlevel_ops operations = {};
  operations.init = Init;
  operations.lookup = Lookup;
  operations.getattr = GetAttributes;
  operations.open = Open;
  operations.opendir = Open;
  operations.read = Read;
  operations.readdir = ReadDirectory;

  fuse_session* session = fuse_session_new(args, &operations, sizeof(operations), nullptr);
  if (session == nullptr) return 1;
  int status = 1;
  if (fuse_set_signal_handlers(session) == 0) {
    if (fuse_session_mount(session, command.mountpoint) == 0) {
      fuse_daemonize(command.foreground);
      fuse_loop_config* loop = fuse_loop_cfg_create();
      fuse_loop_cfg_set_clone_fd(loop, 1);
      status = fuse_session_loop_mt(session, loop) == 0 ? 0 : 1;
      fuse_loop_cfg_destroy(loop);
      fuse_session_unmount(session);
    }
    fuse_remove_signal_handlers(session);
  }
  fuse_session_destroy(session);
  return status;
}

}  // namespace

int main(int argc, char* argv[]) {
  static const fuse_opt kOptions[] = {{"--ttl=%lf", offsetof(Options, ttl), 0},
                                      {"--immutable", offsetof(Options, immutable), 1},
                                      FUSE_OPT_END};
  fuse_args args = FUSE_ARGS_INIT(argc, argv);
  Options options;
  fuse_cmdline_opts command = {};
  int status = 1;
  if (fuse_opt_parse(&args, &options, kOptions, TakeTable) != 0 ||
      fuse_opt_add_arg(&args, "-oro,max_read=1048576,default_permissions,subtype=bare") != 0 ||
      fuse_parse_cmdline(&args, &command) != 0 || options.table == nullptr ||
      command.mountpoint == nullptr) {
    std::fprintf(stderr, "usage: bare_fuse TABLE MNT -f [--ttl=SECONDS | --immutable]\n");
  } else if (LoadTable(options.table)) {
    name_timeout = options.immutable != 0 ? kForever : options.ttl;
    status = Serve(&args, command);
  }
  std::free(command.mountpoint);
  std::free(options.table);
  fuse_opt_free_args(&args);
  return status;
}
