# scdoc's troff without what `mandoc -T lint` finds in it: paragraph macros with nothing to begin (scdoc writes one after each
# heading, and around indentation), and text lines longer than 80 bytes.
function flush_pending() {
  if (pending != "") print pending
  pending = ""
}
function fold_line(line,   words, n, i, out) {
  if (length(line) <= 80) { print line; return }
  n = split(line, words, " ")
  out = ""
  for (i = 1; i <= n; ++i) {
    if (out != "" && length(out) + 1 + length(words[i]) > 78) {
      print out
      # At the start of a line these two begin a request.
      out = (words[i] ~ /^[.']/ ? "\\&" : "") words[i]
    } else {
      out = out (out == "" ? "" : " ") words[i]
    }
  }
  print out
}
/^\.nf/ { flush_pending(); literal = 1; print; before = ""; next }
/^\.fi/ { literal = 0; print; before = ""; next }
literal { print; next }
/^\.PP?$/ { if (before != "heading") pending = $0; next }
/^\.(SH|SS)/ { pending = ""; print; before = "heading"; next }
# Indentation begins a paragraph by itself, and ends one.
/^\.RS/ { pending = ""; print; before = "heading"; next }
/^\.RE/ { print; pending = ".P"; before = ""; next }
/^\./ { flush_pending(); print; before = ""; next }
{ flush_pending(); fold_line($0); before = "" }
