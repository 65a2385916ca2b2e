# What is installed beside the programs: manuals, units, completions, documents; and how cpack makes the Debian package
# (tools/package) and the source tarball of it all.
include(GNUInstallDirs)

# --- Manuals: their option tables are what the program itself says. ---------------------------------------
set(pages "")
foreach(page zarrfs.8 mount.zarrfs.8 zarrfs.5 zarrctl.1)
  set(source ${PROJECT_SOURCE_DIR}/packaging/man/${page}.scd)
  set(folder ${PROJECT_SOURCE_DIR}/packaging/man)
  set(output ${CMAKE_BINARY_DIR}/man/${page}.gz)
  add_custom_command(OUTPUT ${output}
    COMMAND ${folder}/make-page $<TARGET_FILE:zarrfs> ${SCDOC_PROGRAM} ${source} ${output}
    DEPENDS zarrfs ${source} ${folder}/make-page ${folder}/options.awk ${folder}/tidy.awk
    VERBATIM)
  list(APPEND pages ${output})
  string(REGEX MATCH "[0-9]$" section ${page})
  install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(manuals ALL DEPENDS ${pages})

# --- mount(8)'s helper, units, completions. --------------------------------------------------------------
file(RELATIVE_PATH program ${CMAKE_INSTALL_FULL_SBINDIR} ${CMAKE_INSTALL_FULL_BINDIR}/zarrfs)
file(CREATE_LINK ${program} ${CMAKE_BINARY_DIR}/mount.zarrfs SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/mount.zarrfs DESTINATION ${CMAKE_INSTALL_SBINDIR})
if(NOT CMAKE_INSTALL_FULL_SBINDIR MATCHES "^(/usr)?/sbin$")
  install(CODE "
    if(NOT DEFINED ENV{DESTDIR})
      message(STATUS \"mount(8) looks for its helper in /sbin alone: ln -sf \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/zarrfs /sbin/mount.zarrfs\")
    endif()" COMPONENT helper)
endif()

foreach(manager system user)
  set(unit ${CMAKE_BINARY_DIR}/systemd/${manager}/zarrfs@.service)
  if(manager STREQUAL "system")
    configure_file(packaging/systemd/zarrfs@.service.in ${unit} @ONLY)
  else()
    configure_file(packaging/systemd/user/zarrfs@.service.in ${unit} @ONLY)
  endif()
  # Not CMAKE_INSTALL_LIBDIR, which is another one on each architecture.
  install(FILES ${unit} DESTINATION lib/systemd/${manager})
endforeach()
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/zarrfs)

# Monitoring: the collector, its units, what Prometheus and Grafana load.
install(PROGRAMS packaging/monitoring/zarrfs-metrics DESTINATION ${CMAKE_INSTALL_DATADIR}/zarrfs)
install(FILES packaging/monitoring/alerts.yml packaging/monitoring/grafana-dashboard.json DESTINATION ${CMAKE_INSTALL_DATADIR}/zarrfs)
configure_file(packaging/monitoring/zarrfs-metrics.service.in ${CMAKE_BINARY_DIR}/systemd/system/zarrfs-metrics.service @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/systemd/system/zarrfs-metrics.service packaging/monitoring/zarrfs-metrics.timer
  DESTINATION lib/systemd/system)

# The cache of a cluster (docs/CLUSTER.md).
install(FILES packaging/cache/nginx.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/zarrfs/cache)

set(bash_completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES packaging/completions/bash/zarrfs packaging/completions/bash/zarrctl DESTINATION ${bash_completions})
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/completions)
file(CREATE_LINK zarrfs ${CMAKE_BINARY_DIR}/completions/mount.zarrfs SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/completions/mount.zarrfs DESTINATION ${bash_completions})
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_completions ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)  # Debian's name for those of packages
else()
  set(zsh_completions ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
install(FILES packaging/completions/zsh/_zarrfs packaging/completions/zsh/_zarrctl DESTINATION ${zsh_completions})
install(DIRECTORY packaging/completions/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  FILES_MATCHING PATTERN "*.fish")

# --- Documents. ------------------------------------------------------------------------------------------
file(GLOB documents CONFIGURE_DEPENDS docs/*.md)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(ZARRFS_SBOM)
  install(FILES ${ZARRFS_SBOM} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
if(ZARRFS_NOTICES)
  install(DIRECTORY ${ZARRFS_NOTICES}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/libraries)
endif()
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY packaging/kubernetes DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES packaging/example.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples RENAME mnt-ocean.conf)
if(ZARRFS_DEBIAN)
  # Under the names that Debian has for them.
  foreach(pair CHANGELOG.md:changelog.gz packaging/debian/changelog:changelog.Debian.gz)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 from)
    list(GET pair 1 name)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${name}
      COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/${from} > ${CMAKE_BINARY_DIR}/${name}
      DEPENDS ${PROJECT_SOURCE_DIR}/${from})
    list(APPEND changelogs ${CMAKE_BINARY_DIR}/${name})
  endforeach()
  add_custom_target(changelogs ALL DEPENDS ${changelogs})
  install(FILES ${changelogs} packaging/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(FILES packaging/debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME zarrfs)
else()
  install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# --- cpack. ----------------------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_SOURCE_GENERATOR TXZ)
set(CPACK_PACKAGE_NAME zarrfs)
set(CPACK_PACKAGE_VENDOR "The zarrfs authors")
set(CPACK_PACKAGE_CONTACT "The zarrfs authors <maintainers@zarrfs.invalid>")
set(CPACK_SET_DESTDIR ON)  # /etc is not below /usr
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# Libraries as dpkg-shlibdeps finds them; fusermount3 and /etc/fuse.conf by name.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "fuse3 (>= 3.10)")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "mount sharded Zarr stores as plain chunk files")
# The field's format: a line with a dot alone parts paragraphs.
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Zarr v3 stores with sharding hold a few hundred large files instead of
millions of small ones. zarr-python 2, GDAL 3.6, netCDF-C and shell scripts,
which know only one file per chunk, cannot read them.
.
zarrfs mounts such a store, read-only, and shows it as the plain files that
those programs expect. Nothing is copied or converted on disk: a chunk file
is a byte range of the shard, read when somebody reads it.
.
zarrctl, which comes with it, shows what is in a store and checks it.")
set(control ${PROJECT_SOURCE_DIR}/packaging/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${control}/postinst;${control}/prerm;${control}/postrm;${control}/triggers")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Of programs that need no library (tools/package rpm).
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_SUMMARY "Mount sharded Zarr stores as plain chunk files")
set(CPACK_RPM_PACKAGE_DESCRIPTION "zarrfs mounts a sharded Zarr store, read-only, and shows it as the plain files that
zarr-python 2, GDAL 3.6, netCDF-C and shell scripts expect. Nothing is copied or converted on disk.")
set(CPACK_RPM_PACKAGE_AUTOREQ OFF)
set(CPACK_RPM_PACKAGE_REQUIRES fuse3)
# What other packages own.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/sbin /usr/lib/systemd /usr/lib/systemd/system /usr/lib/systemd/user
  /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/vendor-completions
  /usr/share/fish /usr/share/fish/vendor_completions.d
  /usr/share/man /usr/share/man/man1 /usr/share/man/man5 /usr/share/man/man8)

set(CPACK_SOURCE_PACKAGE_FILE_NAME zarrfs-${PROJECT_VERSION})
set(CPACK_SOURCE_IGNORE_FILES "^${PROJECT_SOURCE_DIR}/build/" "/\\\\.git" __pycache__ /\\\\.pytest_cache/)
include(CPack)
