# fish completion for zarrctl. Commands and options are those that `zarrctl --help` lists.

function __zarrctl_program
    set -l program (commandline -opc)[1]
    command -q -- $program; or set program zarrctl
    echo $program
end

# The words after the command that are no options.
function __zarrctl_arguments
    set -l words (string match -v -- '-*' (commandline -opc)[2..-1])
    test (count $words) -gt 1; and printf '%s\n' $words[2..-1]
end

function __zarrctl_command
    set -l words (string match -v -- '-*' (commandline -opc)[2..-1])
    test (count $words) -gt 0; and echo $words[1]
end

# __zarrctl_at COUNT COMMAND...: whether COUNT arguments of one of the commands are there.
function __zarrctl_at
    test (count (__zarrctl_arguments)) -eq $argv[1]; and contains -- (__zarrctl_command) $argv[2..-1]
end

function __zarrctl_commands
    set -l program (__zarrctl_program)
    $program --help 2>/dev/null | awk '
    /^Subcommands:/ { on = 1; next }
    on && /^$/ { exit }
    on && /^  [a-z]/ { name = $1; sub(/^  [^ ]+ +/, ""); print name "\t" $0 }'
end

function __zarrctl_options
    set -l program (__zarrctl_program)
    $program (__zarrctl_command) --help 2>/dev/null |
        awk '/^  -/ { n = split($1, names, ","); for (i = 1; i <= n; i++) print names[i] }'
end

function __zarrctl_mounts
    awk '{ for (i = 7; i < NF; i++) if ($i == "-") { if ($(i + 1) == "fuse.zarrfs") print $5; break } }' /proc/self/mountinfo |
        while read -l mount
            printf '%b\n' (string replace -a '\\' '\\0' -- $mount)
        end
end

# Groups (with a slash) and arrays of the store that is the first argument.
function __zarrctl_nodes
    set -l store (string replace -r '^~' $HOME -- (__zarrctl_arguments)[1])
    set -l above (string match -r '.*/' -- (commandline -ct))
    for folder in "$store/$above"*/
        set folder (string trim -r -c / -- $folder)
        set -l name "$above"(path basename -- $folder)
        if test -e $folder/.zarray; or grep -qs '"node_type" *: *"array"' $folder/zarr.json
            echo $name
        else if test -e $folder/.zgroup; or test -e $folder/zarr.json
            echo $name/
        end
    end
end

complete -c zarrctl -f
complete -c zarrctl -n 'not __zarrctl_command >/dev/null' -a '(__zarrctl_commands)'
complete -c zarrctl -l out -r -F
complete -c zarrctl -l html -r -F
complete -c zarrctl -l pictures -x -a 'yes no'
complete -c zarrctl -l by -x -a 'size order present'
complete -c zarrctl -l color -x -a 'auto always never'
complete -c zarrctl -s o -x -a 'endpoint= region= anonymous profile= absent=403 redirects=follow headers= query= list= timeout='
complete -c zarrctl -l links -x -a 'inside follow (__fish_complete_directories)'
complete -c zarrctl -l slice -x
complete -c zarrctl -l view -x -a 'v2 v3'
complete -c zarrctl -l fill -x -a 'auto keep'
complete -c zarrctl -l nc -x -a 'auto 2 5'
complete -c zarrctl -l separator -x -a '. /'
complete -c zarrctl -l prefix -x
complete -c zarrctl -l inline-decoded -x
complete -c zarrctl -l shard-size -x
complete -c zarrctl -l shards -x
complete -c zarrctl -l part -x
complete -c zarrctl -l memory -x
complete -c zarrctl -s j -l jobs -x
complete -c zarrctl -n 'string match -q -- "-*" (commandline -ct)' -a '(__zarrctl_options)'
complete -c zarrctl -n '__zarrctl_at 0 info ls verify map refs pack' -a '(__fish_complete_directories; __fish_complete_path (commandline -ct) | string match -r "^[^\t]*\.(?:zip|ozx|json)\b.*")'
complete -c zarrctl -n '__zarrctl_at 0 where cat' -F
complete -c zarrctl -n '__zarrctl_at 1 info ls verify map refs where cat' -a '(__zarrctl_nodes)'
complete -c zarrctl -n '__zarrctl_at 1 pack' -a '(__fish_complete_directories)'
complete -c zarrctl -n '__zarrctl_at 0 sample' -a '(__fish_complete_directories)'
complete -c zarrctl -n '__zarrctl_at 0 status log-level' -a '(__zarrctl_mounts)'
complete -c zarrctl -n '__zarrctl_at 1 log-level' -a 'error warning info debug'
