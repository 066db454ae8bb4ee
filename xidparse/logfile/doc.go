// Package logfile reads a saved kernel log of any format, message by message:
// the format is found per line, gzip and zstd by their magic. Memory does not
// grow with the file, and no line can lose its neighbours.
package logfile
