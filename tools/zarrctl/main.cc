// zarrctl: looks into Zarr stores the way zarrfs sees them.
#include <CLI/CLI.hpp>
#include <csignal>
#include <string>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/store/local_store.h"

namespace zarrfs::ctl {
namespace {

constexpr const char* kFooter =
    "A STORE may be the folder of a store, or of a group or array inside one.\n"
    "Exit codes: 0 all well; 1 wrong usage, damage, or no such chunk; 2 the store cannot be read.";

constexpr const char* kChunkWords =
    "ARRAY CHUNK, STORE PATH CHUNK, or the path of a chunk file below a zarrfs mount. A CHUNK is "
    "written 0.3.1, 0/3/1 or c/0/3/1";

int Run(int argc, char** argv) {
  CLI::App app("Looks into Zarr stores the way zarrfs sees them.", "zarrctl");
  app.footer(kFooter);
  app.set_version_flag("-V,--version", "zarrctl " ZARRFS_VERSION);
  app.require_subcommand(1);
  const auto add_node = [](CLI::App* command, std::string& store, std::string& path) {
    command->add_option("STORE", store, "Folder of the store")->required();
    command->add_option("PATH", path, "A group or array in it");
  };
  const auto add_json = [](CLI::App* command, bool& json) {
    command->add_flag("--json", json, "Print one JSON document");
  };

  InfoOptions info;
  CLI::App* command = app.add_subcommand(
      "info", "Groups and arrays: shapes, chunks, codecs, and what each view does with them");
  add_node(command, info.store, info.path);
  add_json(command, info.json);

  LsOptions ls;
  command = app.add_subcommand(
      "ls", "What lies below a group, or the stored objects of an array and the chunks in each");
  add_node(command, ls.store, ls.path);
  command->add_flag(
      "-l,--long", ls.details,
      "Of arrays below a group chunks, shards and codecs; of an array each chunk with "
      "its offset and length");
  add_json(command, ls.json);

  WhereOptions where;
  command = app.add_subcommand("where", "File, offset and length of one chunk");
  command->add_option("CHUNK", where.words, kChunkWords)->required()->expected(1, 3);
  add_json(command, where.json);

  CatOptions cat;
  command = app.add_subcommand("cat", "One chunk, as stored, on standard output");
  command->add_option("CHUNK", cat.words, kChunkWords)->required()->expected(1, 3);
  command->add_flag("--decode", cat.decode, "Its elements instead: C order, little-endian");

  VerifyOptions verify;
  command = app.add_subcommand("verify",
                               "Read every index and decode every chunk; one line for each damage");
  add_node(command, verify.store, verify.path);
  command->add_option("-j,--jobs", verify.jobs, "Threads (default: one a core)")
      ->check(CLI::Range(1, 256));
  add_json(command, verify.json);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success) == 0 ? kExitOk : kExitWrong;
  } catch (const CLI::ParseError& error) {
    Complain(fmt::format("{} (zarrctl --help tells more)", error.what()));
    return kExitWrong;
  }
  if (app.got_subcommand("info")) return RunInfo(info);
  if (app.got_subcommand("ls")) return RunLs(ls);
  if (app.got_subcommand("where")) return RunWhere(where);
  if (app.got_subcommand("cat")) return RunCat(cat);
  return RunVerify(verify);
}

}  // namespace
}  // namespace zarrfs::ctl

int main(int argc, char** argv) {
  // Whoever reads our output may stop: end quietly, as other filters do, also if our parent
  // process ignores the signal.
  std::signal(SIGPIPE, SIG_DFL);
  zarrfs::RaiseOpenFileLimit();
  return zarrfs::ctl::FinishOutput(zarrfs::ctl::Run(argc, argv));
}
