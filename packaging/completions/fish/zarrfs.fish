# fish completion for zarrfs. The options after -o are those that `zarrfs --help` lists.

function __zarrfs_mounts
    awk '{ for (i = 7; i < NF; i++) if ($i == "-") { if ($(i + 1) == "fuse.zarrfs") print $5; break } }' /proc/self/mountinfo |
        while read -l mount
            printf '%b\n' (string replace -a '\\' '\\0' -- $mount)
        end
end

# What may follow in a list after -o: "view=v2,immutable".
function __zarrfs_mount_options
    set -l program (commandline -opc)[1]
    command -q -- $program; or set program zarrfs
    set -l typed (string replace -r '^-o' '' -- (commandline -ct))
    set -l before (string match -r '.*,' -- $typed)
    $program --help 2>/dev/null | awk '
    /^Options after -o/ { on = 1; next }
    on && /^$/ { exit }
    on && /^  [a-z]/ { name = $1; sub(/^  [^ ]+ */, ""); print name "\t" $0 }' | while read -l -d \t option help
        set -l name (string split -m 1 = -- $option)
        if not set -q name[2]
            printf '%s\t%s\n' "$before$name[1]" $help
            continue
        end
        test "$name[2]" = LEVEL; and set name[2] 'error|warning|info|debug'
        if test "$name[2]" = FILE
            printf '%s\t%s\n' "$before$name[1]=" $help
            set -l begun (string match -r "^$name[1]=(.*)" -- (string replace -r '.*,' '' -- $typed))
            and for file in (__fish_complete_path $begun[2] $help)
                printf '%s\n' "$before$name[1]=$file"
            end
            continue
        end
        # Words in capitals stand for a number or a size.
        if string match -qr '[A-Z]' -- $name[2]
            printf '%s\t%s\n' "$before$name[1]=" $help
        else
            for value in (string split '|' -- $name[2])
                printf '%s\t%s\n' "$before$name[1]=$value" $help
            end
        end
    end
end

for command in zarrfs mount.zarrfs
    complete -c $command -f -a '(__fish_complete_directories; __fish_complete_path (commandline -ct) | string match -r "^[^\t]*\.(?:zip|ozx|json)\b.*")'
    complete -c $command -s o -x -a '(__zarrfs_mount_options)' -d 'Mount options'
    complete -c $command -s v -d 'Say what was mounted'
    complete -c $command -s h -l help -d 'Print help'
    complete -c $command -s V -l version -d 'Print versions'
    complete -c $command -l config -r -F -d 'Source and options are in this file'
    complete -c $command -l check -d 'Say whether a mount would work'
    complete -c $command -l list -d 'List the zarrfs mounts'
    complete -c $command -l all -d 'With --upgrade: every mount'
    complete -c $command -l upgrade -x -a '(__zarrfs_mounts; echo -- --all)' -d 'Serve a mount by this program'
    complete -c $command -l unmount -x -a '(__zarrfs_mounts)' -d 'End a mount'
end
complete -c zarrfs -s s -d 'Answer with one thread'
complete -c zarrfs -s f -d 'Stay in the foreground, log to stderr'
complete -c zarrfs -s d -d 'Likewise, with every request logged'
complete -c mount.zarrfs -s s -d 'Unknown options are no error'
complete -c mount.zarrfs -s f -d 'Check everything, mount nothing'
complete -c mount.zarrfs -s n -d 'Accepted, without effect'
