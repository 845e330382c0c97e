// Package rootfs reads files that must be below a folder, whatever dots and symbolic links their
// names hold.
package rootfs
