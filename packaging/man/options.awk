# The options that `zarrfs --help` lists after "-o", as scdoc: stands for the line @OPTIONS@ of the manual.
#
#   awk -f options.awk HELP MANUAL.scd
NR == FNR {
  if (/^Options after -o/) { listing = 1; next }
  if (!listing) next
  if (/^$/) { listing = 0; next }
  if (/^  [a-z]/) {  # "  name=VALUE   what it does"
    name = $1
    help = $0
    sub(/^  [^ ]+ */, "", help)
    value = ""
    if (equals = index(name, "=")) {
      value = substr(name, equals + 1)
      name = substr(name, 1, equals - 1)
    }
    ++count
    entry[count] = "*" name "*" (value == "" ? "" : "=_" value "_")
    text[count] = help
  } else if (/^   +[^ ]/) {  # goes on below
    sub(/^ +/, "")
    text[count] = text[count] " " $0
  } else if (!/^[A-Z].*:$/) {  # a heading
    listing = 0
  }
  next
}
/^@OPTIONS@$/ {
  if (!count) { print "options.awk: the help lists no options" > "/dev/stderr"; exit 1 }
  for (i = 1; i <= count; ++i) {
    gsub(/[\\_*]/, "\\\\&", text[i])
    print entry[i] "\n\t" text[i] (i == count ? "" : "\n")
  }
  next
}
{ print }
