// Package importpolicy checks by its tests which packages and modules each package of this module
// imports.
package importpolicy
