#!/bin/sh
# Called by Trunk after every build: puts the content security policy into a release build's page.
# Debug builds go without, because live reload needs an inline script and a socket.
set -eu

[ "$TRUNK_PROFILE" = release ] || exit 0

policy="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
page="$TRUNK_STAGING_DIR/index.html"

sed "s|<meta charset=[^>]*>|&<meta http-equiv=\"Content-Security-Policy\" content=\"$policy\">|" "$page" >"$page.new"
grep -q 'http-equiv="Content-Security-Policy"' "$page.new" || {
    echo "add_security_policy: found no <meta charset> in $page to put the policy after" >&2
    exit 1
}
mv "$page.new" "$page"
