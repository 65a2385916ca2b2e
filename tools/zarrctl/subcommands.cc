// The commands of CommandLine, with their options and examples.
#include <sstream>
#include <string>
#include <utility>

#include "tools/zarrctl/command_line.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {
namespace {

constexpr const char* kChunkWords =
    "ARRAY CHUNK, STORE PATH CHUNK, or the path of a chunk file below a zarrfs mount. A CHUNK is "
    "written 0.3.1, 0/3/1 or c/0/3/1";

constexpr const char* kExitCodesOfVerify =
    "Exit codes: 0 everything was checked and is sound; 1 damage was found, or a symbolic link\n"
    "that is not followed; 2 something could not be read;\n"
    "3 no damage was found, but not everything could be checked (for example chunks of a codec\n"
    "that is not built in); 130 interrupted by Ctrl-C.\n\n";

constexpr const char* kExitCodesOfRefs =
    "Exit codes: 0 complete; 1 usage error or damaged data; 2 a read or write failed;\n"
    "3 something was left out (listed on standard error); 130 interrupted by Ctrl-C.\n\n";

template <typename Options>
int OnNode(int (*command)(const TargetNode&, const Options&), const Options& options) {
  HierarchyOptions as_mounted;
  if constexpr (requires { options.netcdf; }) as_mounted.netcdf = options.netcdf;
  const auto target = FindNode(options.store, options.path, std::move(as_mounted));
  return target ? command(*target, options) : Complain(target.error());
}

}  // namespace

void CommandLine::AddInspecting() {
  CLI::App* command =
      Add("info", "One line per array, and what each view lacks; with a PATH or -l, all details",
          "Examples:\n"
          "  zarrctl info /data/ocean.zarr             the whole tree, a line per array\n"
          "  zarrctl info /data/ocean.zarr forecast    from one group or array down, in detail\n"
          "  zarrctl info /data/ocean.zarr --html ocean.html    a page with pictures",
          [this] { return OnNode(Info, info_); });
  command->parse_complete_callback([this] {
    if (!info_.html.empty()) make_room_ = [this] { return MakeRoomForPage(info_); };
  });
  AddNode(command, info_);
  command->add_flag("-l,--long", info_.details,
                    "Chunks, codecs, bytes stored, and what each view does with each array");
  AddJson(command, info_.json);
  command
      ->add_option_function<std::string>(
          "--nc", [this](const std::string& text) { SetNetcdf(text); },
          "Format of the files of nc, as the option nc of a mount")
      ->type_name("auto|2|5");
  CLI::Option* html =
      command
          ->add_option("--html", info_.html,
                       "Write a page for browsers, one file: the tree, pictures of the arrays, "
                       "maps of their chunks, lines to copy")
          ->type_name("FILE")
          ->excludes("--json")
          ->excludes("--long");
  command
      ->add_option_function<std::string>(
          "--pictures", [this](const std::string& text) { info_.has_pictures = text == "yes"; },
          "Whether that page has pictures: yes (default) or no")
      ->type_name("CHOICE")
      ->check(CLI::IsMember({"yes", "no"}))
      ->needs(html);

  command =
      Add("ls",
          "List the nodes below a group, or the stored objects of an array and the chunks in each",
          "Examples:\n"
          "  zarrctl ls /data/ocean.zarr               groups and arrays directly below\n"
          "  zarrctl ls -l /data/ocean.zarr forecast/t each chunk with offset and length\n"
          "  zarrctl ls --snapshots /data/ocean.icechunk    commits, branches and tags",
          [this] { return OnNode(Ls, ls_); });
  AddNode(command, ls_);
  command->add_flag("-l,--long", ls_.details,
                    "Arrays in a group with chunks, shards and codecs; an array with each chunk's "
                    "offset and length");
  command
      ->add_flag("--snapshots", ls_.has_snapshots,
                 "Commits of an Icechunk repository, the newest first: id, time (UTC), parent, "
                 "branches and tags, message")
      ->excludes("--long");
  AddJson(command, ls_.json);

  command = Add("where", "File, offset and length of one chunk",
                "Examples:\n"
                "  zarrctl where /data/ocean.zarr/forecast/t 0.3.1\n"
                "  zarrctl where /data/ocean.zarr forecast/t c/0/3/1\n"
                "  zarrctl where /mnt/ocean/v2/forecast/t/0.3.1",
                [this] { return Where(where_); });
  command->add_option("CHUNK", where_.words, kChunkWords)->required()->expected(1, 3);
  AddRemote(command);
  AddLinks(command);
  AddJson(command, where_.json);

  command = Add("cat", "Write one chunk, as stored, to standard output",
                "Examples:\n"
                "  zarrctl cat /data/ocean.zarr/forecast/t 0.3.1 > chunk\n"
                "  zarrctl cat --decode /data/ocean.zarr forecast/t 0.3.1 | od -t f4 | head",
                [this] { return Cat(cat_); });
  command->add_option("CHUNK", cat_.words, kChunkWords)->required()->expected(1, 3);
  AddRemote(command);
  AddLinks(command);
  command->add_flag("--decode", cat_.decode,
                    "Write the decoded elements instead, in C order, little-endian");
}

void CommandLine::SetNetcdf(const std::string& text) {
  if (text == "auto") {
    info_.netcdf = NetcdfFormat::kAuto;
  } else if (text == "2" || text == "5") {
    info_.netcdf = text == "2" ? NetcdfFormat::kCdf2 : NetcdfFormat::kCdf5;
  } else {
    throw CLI::ValidationError("--nc", text + ": expected auto, 2 or 5");
  }
}

void CommandLine::AddChecking() {
  CLI::App* command =
      Add("verify", "Read every index and decode every chunk; one line per damage found",
          std::string(kExitCodesOfVerify) +
              "Examples:\n"
              "  zarrctl verify /data/ocean.zarr             everything\n"
              "  zarrctl verify -j 2 /data/ocean.zarr forecast\n"
              "  zarrctl verify --json /data/ocean.zarr | jq '.damage[].key'",
          [this] { return OnNode(Verify, verify_); });
  AddNode(command, verify_);
  command->add_option("-j,--jobs", verify_.jobs, "Threads (default: one per core)")
      ->check(CLI::Range(1, 256));
  AddJson(command, verify_.json);

  command = Add("map", "Draw which chunks of an array are stored, how large, and in which order",
                "Exit codes: 0 drawn; 1 drawn, and what is damaged or unreadable is named on "
                "standard error.\n\n"
                "Examples:\n"
                "  zarrctl map /data/ocean.zarr forecast/t\n"
                "  zarrctl map --by order --slice 12,0 /data/ocean.zarr forecast/t\n"
                "  zarrctl map --by present /data/ocean.zarr/forecast/t",
                [this] { return OnNode(Map, map_); });
  AddNode(command, map_);
  command
      ->add_option("--by", map_by_,
                   "What colours and shades show: size (default), order (of the chunks inside "
                   "their shard) or present")
      ->type_name("WHAT")
      ->check(CLI::IsMember(kMapByNames));
  command
      ->add_option("--slice", map_.slice,
                   "For arrays with more than two axes: chunk numbers along all but the last two, "
                   "as 3 or 3,0 (default: the first slice that has chunks)")
      ->type_name("I,J");
  AddJson(command, map_.json);
}

void CommandLine::AddReferring() {
  CLI::App* command =
      Add("refs", "Write references to the chunks, which fsspec opens as a store without shards",
          std::string(kExitCodesOfRefs) +
              "Examples:\n"
              "  zarrctl refs /data/ocean.zarr --out ocean.json\n"
              "  zarrctl refs /data/ocean.zarr --out ocean.json --prefix s3://bucket/ocean.zarr\n"
              "  zarrctl refs /data/ocean.zarr --out ocean.parq    for millions of chunks",
          [this] { return Refs(refs_); });
  command->parse_complete_callback(
      [this] { make_room_ = [this] { return MakeRoomForRefs(refs_); }; });
  command
      ->add_option("STORE", refs_.store,
                   "Folder of a store, zip file, s3://BUCKET/PREFIX or https://HOST/PATH")
      ->required();
  command->add_option("PATH", refs_.path, "A group or array in it");
  command->add_option("--out", refs_.out, "Output: FILE.json, or a new folder DIR.parq for Parquet")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--view", refs_.view, "View to which the references refer: v2 (default) or v3")
      ->type_name("VIEW")
      ->check(CLI::IsMember({"v2", "v3"}));
  command
      ->add_option("--prefix", refs_.prefix,
                   "URL of the folder STORE where they will be used (default: its address, or "
                   "file:// and its path)")
      ->type_name("URL");
  command
      ->add_option("--separator", refs_.separator,
                   "Separator in chunk names: . or / (default: as in a mount)")
      ->type_name("CHAR")
      ->check(CLI::IsMember({".", "/"}));
  command
      ->add_option("--fill", refs_.fill,
                   "What readers see for chunks that are not stored: auto (default) or keep, "
                   "as for the mount option fill=")
      ->type_name("POLICY")
      ->check(CLI::IsMember({"auto", "keep"}));
  command
      ->add_option("--inline-decoded", refs_.inline_decoded,
                   "For arrays whose chunks must be decoded: put up to SIZE bytes of each array "
                   "into the references (default: leave such arrays out)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
  AddRemote(command);
  AddLinks(command);
}

void CommandLine::AddPacking() {
  CLI::App* command = Add(
      "pack", "Write a Zarr v2 store, or a v3 one without shards, as a v3 store with shards",
      "Chunks are copied without compressing them again if readers of v3 support their codecs.\n"
      "If the command is interrupted, run it again; it continues where it stopped.\n\n"
      "Examples:\n"
      "  zarrctl pack --dry-run /data/old.zarr /data/new.zarr\n"
      "  zarrctl pack --verify /data/old.zarr /data/new.zarr\n"
      "  zarrctl pack --skip --only 'ocean/*' /data/old.zarr /data/new.zarr\n"
      "  zarrctl pack --shards 1,8,8 --part 3/16 /data/old.zarr /data/new.zarr",
      [this] { return OnNode(Pack, pack_); });
  command->parse_complete_callback(
      [this] { make_room_ = [this] { return MakeRoomForPack(pack_); }; });
  command->add_option("SRC", pack_.store, "Path or URL of the store, or of a group or array in it")
      ->required();
  command->add_option("DST", pack_.target, "Folder of the new store")->required();
  command
      ->add_option("--shard-size", pack_.shard_size,
                   "Limit of decoded bytes in a shard (default: 256M)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
  command
      ->add_option("--shards", pack_.chunks_per_shard,
                   "Chunks in a shard along each axis, of arrays with as many axes")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 26));
  command->add_flag(
      "--keep-codecs", pack_.keep_codecs,
      "Copy all chunks, even with codecs that few readers of v3 support (numcodecs.*)");
  command->add_flag("--verify", pack_.verify,
                    "Read back what was written, and compare the values with the source");
  command->add_flag("--dry-run", pack_.dry_run, "Only print what would be done");
  command->add_flag("--skip", pack_.skip,
                    "Omit nodes that cannot be packed; the exit code is then 3");
  command
      ->add_option("--only", pack_.only,
                   "Pack only the arrays and groups whose paths match PATTERN, and what lies below "
                   "them (* stands for any characters)")
      ->type_name("PATTERN");
  command
      ->add_option_function<std::string>(
          "--part", [this](const std::string& text) { SetPart(text); },
          "Pack the i-th of n parts, each in a separate process; the last one to finish completes "
          "the store")
      ->type_name("i/n");
  command->add_option("-j,--jobs", pack_.jobs, "Threads (default: one per core)")
      ->check(CLI::Range(1, 256));
  AddRemote(command);
  AddLinks(command);
}

void CommandLine::SetPart(const std::string& text) {
  char slash = '\0';
  std::istringstream words(text);
  if (!(words >> pack_.part >> slash >> pack_.parts) || slash != '/' || !words.eof() ||
      pack_.part < 1 || pack_.part > pack_.parts || pack_.parts > 1'000'000) {
    throw CLI::ValidationError("--part", text + ": expected i/n, for example 3/16");
  }
}

void CommandLine::AddSample() {
  CLI::App* command =
      Add("sample", "Write small stores to try programs with: climate, image, raster",
          "Examples:\n"
          "  zarrctl sample try                        writes try/ocean.zarr and two others\n"
          "  zarrfs try/ocean.zarr                     mounts it at ./ocean",
          [this] { return Sample(sample_); });
  command->parse_complete_callback(
      [this] { make_room_ = [this] { return MakeRoomForSample(sample_); }; });
  command->add_option("DIR", sample_.folder, "The folder to write them into; created if missing")
      ->required();
}

void CommandLine::AddMounts() {
  CLI::App* command = Add("status", "What a zarrfs mount has done so far, and what it found wrong",
                          "Examples:\n"
                          "  zarrctl status /mnt/ocean\n"
                          "  zarrctl status --json /mnt/ocean | jq .caches",
                          [this] { return Status(status_); });
  command->add_option("MNT", status_.mount, "Where it is mounted")->required();
  AddJson(command, status_.json);

  command = Add("log-level", "How much the daemon of a mount logs; changes it while it runs",
                "Examples:\n"
                "  zarrctl log-level /mnt/ocean          the level in force\n"
                "  zarrctl log-level /mnt/ocean debug    until it is set again or unmounted",
                [this] { return LogLevel(log_level_); });
  // The command sends a signal, so it must not be confined.
  command->parse_complete_callback([this] { only_reads_ = false; });
  command->add_option("MNT", log_level_.mount, "Where it is mounted")->required();
  command->add_option("LEVEL", log_level_.level, "error, warning, info or debug")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}));
}

}  // namespace zarrfs::ctl
