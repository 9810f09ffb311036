# Starts the compiler on a pipe that nobody writes to, and aborts it.
timerlc --emit=ast "$1" &
sleep 1
kill -ABRT $!
wait $!
echo "exit code $?" >&2
