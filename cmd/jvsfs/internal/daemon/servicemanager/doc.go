// Package servicemanager tells the service manager how a mount is (sd_notify(3)). It never waits for the manager, and takes no word from it.
package servicemanager
