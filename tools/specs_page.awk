# SPDX-License-Identifier: Apache-2.0
# What docs/choosing.md says of specs, as the manual page rocksieve-specs(7):
#   awk -v version=1.0.0 -f specs_page.awk docs/choosing.md
# Rows of tables become items: what the first cell names, and the others after their headings.

# As it is typed: no line becomes a request, no dash a hyphen.
function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  sub(/^[.']/, "\\\\\\&&", text)
  return text
}

# Links without where they lead, and not at all if nothing but a link is in brackets; code and
# emphasis in bold.
function roff(text, parts, count, i, result) {
  gsub(/ \(\[[^]]*\]\([^)]*\)\)/, "", text)
  while (match(text, /\[[^]]*\]\([^)]*\)/)) {
    result = substr(text, RSTART + 1, RLENGTH - 1)
    sub(/\]\([^)]*\)$/, "", result)
    text = substr(text, 1, RSTART - 1) result substr(text, RSTART + RLENGTH)
  }
  gsub(/\*\*/, "`", text)
  count = split(text, parts, "`")
  result = escaped(parts[1])
  for (i = 2; i <= count; i++) {
    result = result (i % 2 ? "\\fR" escaped(parts[i]) : "\\fB" escaped(parts[i]))
  }
  return result
}

function item(row, cells, count, i, text) {
  count = split(row, cells, / *\| */)  # the first and the last are empty
  for (i = 3; i < count; i++) {
    text = text (i > 3 ? "; " : "") headings[i] ": " cells[i]
  }
  print ".TP\n" roff(cells[2]) "\n" roff(text) "."
}

/^## Pictures/ { exit }
/^## Specs/ {
  print ".\\\" Made of docs/choosing.md"
  print ".TH ROCKSIEVE\\-SPECS 7 \"\" \"rocksieve " version "\" \"Miscellaneous\"\n.nh\n.ad l"
  print ".SH NAME\nrocksieve\\-specs \\- specs, the strings that say what filter to build"
  print ".SH SYNOPSIS\nrocksieve.\\fIFAMILY\\fR:\\fIAMOUNT\\fR[:\\fIOPTION\\fR]..."
  print ".br\nrocksieve.auto:\\fIBITS\\fR[:\\fIFAMILIES\\fR][:\\fIOPTION\\fR]..."
  print ".SH DESCRIPTION"
  inside = 1
  next
}
!inside || /^\|---/ || /^$/ {
  if (!/^\|/) in_table = 0
  next
}
/^## / {
  print ".SH " toupper(escaped(substr($0, 4)))
  next
}
/^\|/ {
  if (in_table) item($0)
  else split($0, headings, / *\| */)
  in_table = 1
  next
}
{ print ".PP\n" roff($0) }
END {
  print ".SH SEE ALSO\n.BR rocksieve (1),\n.BR rocksieve\\-whatif (1),\n.BR rocksieve\\-doctor (1)"
}
