// Saves the ids of a worker in the file that the option `ids` names.
#pragma once

#include "fs/ids/id_file.h"

namespace zarrfs {

/// Starts a thread that saves the ids once a second until the process ends. Logs only the first of
/// consecutive errors.
void StartSavingIds(IdFile file);

}  // namespace zarrfs
