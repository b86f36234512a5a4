"""The usage texts of httpd's utilities, byte for byte; _OLD is 2.2's.  @PATH@ stands for argv[0]."""

from __future__ import annotations

from typing import Final

HTPASSWD: Final = """\
Usage:
\thtpasswd [-cimB25dpsDv] [-C cost] [-r rounds] passwordfile username
\thtpasswd -b[cmB25dpsDv] [-C cost] [-r rounds] passwordfile username password

\thtpasswd -n[imB25dps] [-C cost] [-r rounds] username
\thtpasswd -nb[mB25dps] [-C cost] [-r rounds] username password
 -c  Create a new file.
 -n  Don't update file; display results on stdout.
 -b  Use the password from the command line rather than prompting for it.
 -i  Read password from stdin without verification (for script usage).
 -m  Force MD5 hashing of the password (default).
 -2  Force SHA-256 hashing of the password (secure).
 -5  Force SHA-512 hashing of the password (secure).
 -B  Force bcrypt hashing of the password (very secure).
 -C  Set the computing time used for the bcrypt algorithm
     (higher is more secure but slower, default: 5, valid: 4 to 17).
 -r  Set the number of rounds used for the SHA-256, SHA-512 algorithms
     (higher is more secure but slower, default: 5000).
 -d  Force CRYPT hashing of the password (8 chars max, insecure).
 -s  Force SHA-1 hashing of the password (insecure).
 -p  Do not hash the password (plaintext, insecure).
 -D  Delete the specified user.
 -v  Verify password for the specified user.
On other systems than Windows and NetWare the '-p' flag will probably not work.
The SHA-1 algorithm does not use a salt and is less secure than the MD5 algorithm.
"""

HTPASSWD_22: Final = """\
Usage:
\thtpasswd [-cmdpsD] passwordfile username
\thtpasswd -b[cmdpsD] passwordfile username password

\thtpasswd -n[mdps] username
\thtpasswd -nb[mdps] username password
 -c  Create a new file.
 -n  Don't update file; display results on stdout.
 -m  Force MD5 encryption of the password (default).
 -d  Force CRYPT encryption of the password.
 -p  Do not encrypt the password (plaintext).
 -s  Force SHA encryption of the password.
 -b  Use the password from the command line rather than prompting for it.
 -D  Delete the specified user.
On other systems than Windows, NetWare and TPF the '-p' flag will probably not work.
The SHA algorithm does not use a salt and is less secure than the MD5 algorithm.
"""

HTDBM: Final = """\
htdbm -- program for manipulating DBM password databases.

Usage: htdbm   [-cimBdpstvx] [-C cost] [-TDBTYPE] database username
                -b[cmBdptsv] [-C cost] [-TDBTYPE] database username password
                -n[imBdpst]  [-C cost] username
                -nb[mBdpst]  [-C cost] username password
                -v[imBdps]   [-C cost] [-TDBTYPE] database username
                -vb[mBdps]   [-C cost] [-TDBTYPE] database username password
                -x                     [-TDBTYPE] database username
                -l                     [-TDBTYPE] database
Options:
   -c   Create a new database.
   -n   Don't update database; display results on stdout.
   -b   Use the password from the command line rather than prompting for it.
   -i   Read password from stdin without verification (for script usage).
   -m   Force MD5 hashing of the password (default).
   -B   Force BCRYPT hashing of the password (very secure).
   -C   Set the computing time used for the bcrypt algorithm
        (higher is more secure but slower, default: 5, valid: 4 to 31).
   -d   Force CRYPT hashing of the password (8 chars max, insecure).
   -s   Force SHA hashing of the password (insecure).
   -p   Do not hash the password (plaintext, insecure).
   -T   DBM Type (SDBM|GDBM|DB|default).
   -l   Display usernames from database on stdout.
   -v   Verify the username/password.
   -x   Remove the username record from database.
   -t   The last param is username comment.
The SHA algorithm does not use a salt and is less secure than the MD5 algorithm.
"""

HTDBM_22: Final = """\
htdbm -- program for manipulating DBM password databases.

Usage: htdbm    [-cmdpstvx] [-TDBTYPE] database username
                -b[cmdptsv] [-TDBTYPE] database username password
                -n[mdpst]   username
                -nb[mdpst]  username password
                -v[mdps]    [-TDBTYPE] database username
                -vb[mdps]   [-TDBTYPE] database username password
                -x[mdps]    [-TDBTYPE] database username
                -l                       [-TDBTYPE] database
Options:
   -b   Use the password from the command line rather than prompting for it.
   -c   Create a new database.
   -n   Don't update database; display results on stdout.
   -m   Force MD5 encryption of the password (default).
   -d   Force CRYPT encryption of the password (now deprecated).
   -p   Do not encrypt the password (plaintext).
   -s   Force SHA encryption of the password.
   -T   DBM Type (SDBM|GDBM|DB|default).
   -l   Display usernames from database on stdout.
   -t   The last param is username comment.
   -v   Verify the username/password.
   -x   Remove the username record from database.
"""

HTDIGEST: Final = """\
Usage: htdigest [-c] passwordfile realm username
The -c flag creates a new file.
"""

HTTXT2DBM: Final = """\
httxt2dbm -- Program to Create DBM Files for use by RewriteMap
Usage: httxt2dbm [-v] [-f format] -i SOURCE_TXT -o OUTPUT_DBM

Options:\x20
 -v    More verbose output

 -i    Source Text File. If '-', use stdin.

 -o    Output DBM.

 -f    DBM Format.  If not specified, will use the APR Default.
           GDBM for GDBM files (available)
           SDBM for SDBM files (available)
           DB   for berkeley DB files (available)
           NDBM for NDBM files (unavailable)
           default for the default DBM type

"""

LOGRESOLVE: Final = """\
logresolve -- Resolve IP-addresses to hostnames in Apache log files.
Usage: logresolve [-s STATFILE] [-c]

Options:
  -s   Record statistics to STATFILE when finished.

  -c   Perform double lookups when resolving IP addresses.
"""

LOGRESOLVE_22: Final = """\
Usage: logresolve [-s statfile] [-c] < input > output
"""

ROTATELOGS: Final = """\
Usage: @PATH@ [-vlfDtTec] [-L linkname] [-p prog] [-n number] <logfile> {<rotation time in seconds>|\
<rotation size>(B|K|M|G)} [offset minutes from UTC]

Add this:

TransferLog "|@PATH@ /some/where 86400"

or\x20

TransferLog "|@PATH@ /some/where 5M"

to httpd.conf. By default, the generated name will be
<logfile>.nnnn where nnnn is the system time at which the log
nominally starts (N.B. if using a rotation time, the time will
always be a multiple of the rotation time, so you can synchronize
cron scripts with it). If <logfile> contains strftime conversion
specifications, those will be used instead. At the end of each
rotation time or when the file size is reached a new log is
started.

Options:
  -v       Verbose operation. Messages are written to stderr.
  -l       Base rotation on local time instead of UTC.
  -L path  Create hard link from current log to specified path.
  -p prog  Run specified program after opening a new log file. See below.
  -f       Force opening of log on program start.
  -D       Create parent directories of log file.
  -t       Truncate logfile instead of rotating, tail friendly.
  -T       Truncate logfiles opened for rotation, but not the initial logfile.
  -e       Echo log to stdout for further processing.
  -c       Create log even if it is empty.
  -n num   Rotate file by adding suffixes '.1', '.2', ..., '.num'.

The program for '-p' is invoked as "[prog] <curfile> [<prevfile>]"
where <curfile> is the filename of the newly opened logfile, and
<prevfile>, if given, is the filename of the previously used logfile.

"""

ROTATELOGS_22: Final = """\
Usage: @PATH@ [-l] [-f] <logfile> {<rotation time in seconds>|<rotation size in megabytes>} \
[offset minutes from UTC]

Add this:

TransferLog "|@PATH@ /some/where 86400"

or\x20

TransferLog "|@PATH@ /some/where 5M"

to httpd.conf. The generated name will be /some/where.nnnn where nnnn is the
system time at which the log nominally starts (N.B. if using a rotation time,
the time will always be a multiple of the rotation time, so you can synchronize
cron scripts with it). At the end of each rotation time or when the file size
is reached a new log is started.
"""
HTCACHECLEAN: Final = """\
htcacheclean -- program for cleaning the disk cache.
Usage: htcacheclean [-Dvtrn] -pPATH [-lLIMIT] [-LLIMIT] [-PPIDFILE]
       htcacheclean [-nti] -dINTERVAL -pPATH [-lLIMIT] [-LLIMIT] [-PPIDFILE]
       htcacheclean [-Dvt] -pPATH URL ...

Options:
  -d   Daemonize and repeat cache cleaning every INTERVAL minutes.
       This option is mutually exclusive with the -D, -v and -r
       options.

  -D   Do a dry run and don't delete anything. This option is mutually
       exclusive with the -d option. When doing a dry run and deleting
       directories with -t, the inodes reported deleted in the stats
       cannot take into account the directories deleted, and will be
       marked as an estimate.

  -v   Be verbose and print statistics. This option is mutually
       exclusive with the -d option.

  -r   Clean thoroughly. This assumes that the Apache web server is\x20
       not running. This option is mutually exclusive with the -d
       option and implies -t.

  -n   Be nice. This causes slower processing in favour of other
       processes.

  -t   Delete all empty directories. By default only cache files are
       removed, however with some configurations the large number of
       directories created may require attention.

  -p   Specify PATH as the root directory of the disk cache.

  -P   Specify PIDFILE as the file to write the pid to.

  -R   Specify amount to round sizes up to.

  -l   Specify LIMIT as the total disk cache size limit. Attach 'K',
       'M' or 'G' to the number for specifying KBytes, MBytes or
        GBytes.

  -L   Specify LIMIT as the total disk cache inode limit. 'K', 'M' or
       'G' suffix can also be used.

  -i   Be intelligent and run only when there was a modification of
       the disk cache. This option is only possible together with the
       -d option.

  -a   List the URLs currently stored in the cache. Variants of the
       same URL will be listed once for each variant.

  -A   List the URLs currently stored in the cache, along with their
       attributes in the following order: url, header size, body size,
       status, entity version, date, expiry, request time,
       response time, body present, head request.

Should an URL be provided on the command line, the URL will be
deleted from the cache. A reverse proxied URL is made up as follows:
http://<hostname>:<port><path>?[query]. So, for the path "/" on the
host "localhost" and port 80, the URL to delete becomes
"http://localhost:80/?". Note the '?' in the URL must always be
specified explicitly, whether a query string is present or not.
"""
