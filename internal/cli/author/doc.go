// Package author checks, formats, tests, reads and writes workflows for the editor of the studio.
//
// A Folder has files: those of a folder, which names in it cannot leave. A Folder without a path
// keeps none: a text that is checked then sees no other files.
package author
