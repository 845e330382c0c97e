package sqlite

import (
	"fmt"
	"syscall"
)

// grounds are file systems by the magic number in linux/magic.h. Others count as disks.
var grounds = map[uint32]ground{
	0x6969:     {"nfs", network},
	0x517b:     {"smb", network},
	0xff534d42: {"cifs", network},
	0xfe534d42: {"smb2", network},
	0x01021997: {"9p", network},
	0x00c36400: {"ceph", network},
	0x5346414f: {"afs", network},
	0x6b414653: {"afs", network},
	0x73757245: {"coda", network},
	0x564c:     {"ncp", network},
	0x0bd00bd0: {"lustre", network},
	0x47504653: {"gpfs", network},
	0x01161970: {"gfs2", network},
	0x7461636f: {"ocfs2", network},
	0x65735546: {"fuse", maybe},
	0x01021994: {"tmpfs", ram},
	0x858458f6: {"ramfs", ram},
	0x794c7630: {"overlay", layer},
	0xef53:     {"ext4", disk},
	0x58465342: {"xfs", disk},
	0x9123683e: {"btrfs", disk},
	0x2fc12fc1: {"zfs", disk},
	0xf2f52010: {"f2fs", disk},
}

// groundOf returns the file system of a directory.
func groundOf(dir string) ground {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return ground{}
	}
	if g, ok := grounds[uint32(s.Type)]; ok {
		return g
	}
	return ground{fmt.Sprintf("%#x", uint32(s.Type)), disk}
}
