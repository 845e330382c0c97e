#!/bin/sh
# Rolls out after.yaml where before.yaml has run. It needs weft, and works in a new folder.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)" || exit 1
before=$here/before.yaml after=$here/after.yaml
export WEFT_STORE=sqlite:orders.db

step() {
	printf '\n# %s\n' "$1"
	shift
	"$@" 2>&1
	echo "exit code $?"
}

# Three orders of one customer, and one of another. Zone 2 is a mistake in before.yaml.
run() { weft run "$before" "$@" >>orders.log 2>&1; }
run --thread acme-1 --input amount=20 --input zone=0
run --thread acme-2 --input amount=500 --input zone=1
run --thread acme-3 --input amount=30 --input zone=2
run --thread ben-1 --input amount=30 --input zone=2

step 'Which threads can the new file go on with?' weft check "$after"
step 'A thread that waits for a node that is gone ends with the old file.' \
	weft pin --where status=interrupted "$before"
step 'Another file cannot go on with it by mistake.' weft resume acme-2 "$after" --answer true
step 'What would be tried again?' weft resume --where status=failed,graph=order "$after" --dry-run
step 'Do it.' weft resume --where status=failed,graph=order "$after" --parallel 4
step 'Once more does no harm.' weft resume --where status=failed,graph=order "$after"
step 'The pinned thread ends.' weft resume acme-2 "$before" --answer true
step 'Keep a copy of a customer.' weft export --where 'thread=acme-*' --to backup
