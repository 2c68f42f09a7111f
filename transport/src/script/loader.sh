s=; while IFS= read -r l; do case $l in "#"*) s="$s${l#?}
";; .) eval "$s"; s=;; !) exit;; esac; done
