package fence

import "github.com/jvsfs/jvsfs/integration/harness"

// openRows are the ways to open for writing. Where the open succeeds, the row
// goes on and writes, so that the holder's copy shows what the flag did.
func openRows() []row {
	file := harness.WithFiles("f")
	return []row{
		{name: "open O_WRONLY", prepare: file, run: openAndWrite("f", "wo")},
		{name: "open O_RDWR", prepare: file, run: openAndWrite("f", "rw")},
		{name: "open O_WRONLY|O_APPEND", prepare: file, run: openAndWrite("f", "wo,append")},
		{name: "open O_RDWR|O_APPEND", prepare: file, run: openAndWrite("f", "rw,append")},
		{name: "open O_WRONLY|O_TRUNC", prepare: file, run: openAndWrite("f", "wo,trunc")},
		{name: "open O_RDWR|O_TRUNC", prepare: file, run: openAndWrite("f", "rw,trunc")},
		{name: "open O_RDONLY|O_TRUNC", prepare: file, run: "open f ro,trunc 0666"},
		{name: "open O_WRONLY|O_SYNC", prepare: file, run: openAndWrite("f", "wo,sync")},
		{name: "open O_CREAT new", run: openAndWrite("new", "wo,creat")},
		{name: "open O_CREAT new read-only", run: "open new ro,creat 0666"},
		{name: "open O_CREAT|O_EXCL", run: openAndWrite("new", "rw,creat,excl")},
		{name: "open O_CREAT existing", prepare: file, run: openAndWrite("f", "wo,creat")},
		{name: "open O_CREAT|O_TRUNC existing", prepare: file, run: openAndWrite("f", "wo,creat,trunc")},
		{name: "open through a symlink", prepare: harness.WithLink("l", "f"), run: openAndWrite("l", "wo")},
		{name: "creat new", run: "creat new 0640 =h; write h made; close h"},
		{name: "creat existing", prepare: file, run: "creat f 0640 =h; write h made; close h"},
		{name: "openat2 O_RDWR", prepare: file, run: "openat2 f rw =h; write h two; close h"},
		{name: "openat2 O_CREAT", run: "openat2 new rw,creat 0660 =h; write h two; close h"},
		{name: "O_TMPFILE and linkat", run: "open . rw,tmp 0644 =h; write h nameless; linkproc h named; close h"},
		{name: "reopen a read handle by /proc", prepare: file, run: "open f ro =h; reopen h wo =w; write w written; close w; close h"},
	}
}

func openAndWrite(name, flags string) string {
	return "open " + name + " " + flags + " 0666 =h; write h written; close h"
}

// pathRows change the content of files by name, or by whole sequences from
// open on: nobody is to get as far as the second call.
func pathRows() []row {
	file, two := harness.WithFiles("f"), harness.WithFiles("f", "src")
	return []row{
		{name: "truncate to nothing", prepare: file, run: "truncate f 0"},
		{name: "truncate shorter", prepare: file, run: "truncate f 5000"},
		{name: "truncate longer", prepare: file, run: "truncate f 20000"},
		{name: "truncate to the same size", prepare: file, run: "truncate f 10000"},
		{name: "open and fallocate", prepare: file, run: "open f wo =h; fallocate h 0 0 30000; close h"},
		{name: "open and copy_file_range in", prepare: two, run: "open src ro =s; open f wo =h; copy s 100 h 200 5000; close h; close s"},
		{name: "open and mmap", prepare: file, run: "open f rw =h; mmap h =m 4096; store m STORED; msync m; munmap m; close h"},
	}
}
