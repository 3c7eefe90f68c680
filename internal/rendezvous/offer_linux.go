package rendezvous

import (
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
)

// offer is the memory file by which tracers find a process. Its name is offerName, and
// only processes that may read this process's memory can open it.
type offer struct {
	version uint32
	socket  int32 // the process's descriptor of the socket's file; -1 if it has none
	secret  [secretSize]byte
	name    string // of the socket if it has no file, an abstract one
}

const (
	offerName  = "usdt-local"
	offerMagic = "usdtoffr"
	offerLink  = "/memfd:" + offerName + " (deleted)"
	maxOffer   = 256 // bytes
)

func (o *offer) encode() []byte {
	b := append([]byte(offerMagic), make([]byte, 8)...)
	order.PutUint32(b[8:], o.version)
	order.PutUint32(b[12:], uint32(o.socket))
	b = append(b, o.secret[:]...)
	return append(b, o.name...)
}

// bind makes a socket that nobody finds by a name, and returns it with a descriptor of
// its file. Where no file can be made, name is that of an abstract socket, which
// tracers in other network namespaces do not reach.
func bind(dirs []string) (socket, file int, name string, err error) {
	var random [16]byte
	if err := sys.Random(random[:]); err != nil {
		return -1, -1, "", err
	}
	unique := []byte("usdt-")
	for _, b := range random {
		unique = append(unique, 'a'+b%16)
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		socket, file, err = bindFile(dir + "/" + string(unique))
		if err == nil || err == unix.EMFILE || err == unix.ENFILE {
			return socket, file, "", err
		}
	}
	socket, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, "", sys.Failed("socket", err)
	}
	if err = unix.Bind(socket, &unix.SockaddrUnix{Name: "@" + string(unique)}); err != nil {
		unix.Close(socket)
		return -1, -1, "", sys.Failed("bind", err)
	}
	return socket, -1, "@" + string(unique), nil
}

// bindFile binds a socket to a path, opens the path and removes it. Nobody can connect
// meanwhile, since the socket does not listen yet.
func bindFile(path string) (socket, file int, err error) {
	socket, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	if err = unix.Fchmod(socket, 0o600); err == nil { // which the file gets
		if err = unix.Bind(socket, &unix.SockaddrUnix{Name: path}); err == nil {
			file, err = unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			unix.Unlink(path)
		}
	}
	if err != nil {
		unix.Close(socket)
		return -1, -1, err
	}
	return socket, file, nil
}
