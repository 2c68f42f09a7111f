exec lsof -nP "-iTCP:$1" -sTCP:LISTEN
