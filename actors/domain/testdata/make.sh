#!/bin/sh
# Makes the fixtures in this folder again. Needs sox 14.4, espeak-ng 1.51 and printf; writes beside itself.
set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# G.711: every code decoded, and every 16-bit sample from -32768 to 32767 encoded. -D: no dither.
awk 'BEGIN { for (i = 0; i < 256; i++) printf "\\%03o", i }' >"$scratch/codes.txt"
printf "$(cat "$scratch/codes.txt")" >"$scratch/codes.raw"
awk 'BEGIN { for (i = -32768; i < 32768; i++) { u = i < 0 ? i + 65536 : i; printf "\\%03o\\%03o", u % 256, int(u / 256) } }' |
    while IFS= read -r octal || [ -n "$octal" ]; do printf '%b' "$(printf '%s' "$octal" | sed 's/\\/\\0/g')"; done >"$scratch/ramp.raw"
for law in u-law:ulaw a-law:alaw; do
    coding=${law%:*}
    name=${law#*:}
    [ "$coding" = u-law ] && coding=mu-law
    sox -D -t raw -r 8000 -c 1 -e "$coding" -b 8 "$scratch/codes.raw" -t raw -e signed -b 16 -L "g711/$name.decoded"
    sox -D -t raw -r 8000 -c 1 -e signed -b 16 -L "$scratch/ramp.raw" -t raw -e "$coding" -b 8 "g711/$name.encoded"
done

# WAV: 50 frames of two different tones in every form that is read. 24 and 32 bits come out as
# WAVE_FORMAT_EXTENSIBLE, the odd one with a byte of padding, the pipe without true sizes.
tones="synth 300s sine 400 sine 1000 vol 0.5"
make() { name=$1; shift; sox -D -n -r 8000 -c 2 "$@" "wav/$name.wav" $tones; }
make pcm8 -e unsigned -b 8
make pcm16 -e signed -b 16
make pcm24 -e signed -b 24
make pcm32 -e signed -b 32
make float32 -e float -b 32
make ulaw -e mu-law -b 8
make alaw -e a-law -b 8
sox -D -n -r 44100 -c 1 -e unsigned -b 8 wav/odd.wav synth 49s sine 400 vol 0.5
sox -D -n -r 16000 -c 1 -e signed -b 16 -t wav - synth 150s sine 400 vol 0.5 2>/dev/null | cat >wav/streamed.wav

# Speech: 16 000 Hz mono mu-law without a header, one file per voice.
speak() {
    name=$1
    voice=$2
    pitch=$3
    shift 3
    espeak-ng -v "$voice" -p "$pitch" -s 160 -w "$scratch/$name.wav" "$*"
    sox -D "$scratch/$name.wav" -t raw -r 16000 -c 1 -e mu-law -b 8 "speech/$name.ulaw" gain -n -6
}
speak agent en-gb 40 "Our records are all in order now, and you only need an email address."
speak customer en-us+f3 60 "I ordered a new modem on Monday and nobody ever rang me again."
speak german de 45 "Guten Morgen, ich möchte gerne meine Rechnung noch einmal durchgehen."
speak spanish es+f2 55 "Buenos días, llamo por una avería en la línea de mi casa."
