/* What may be told of an environment. See environment.h. */
#include "core/environment.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, VALUE_BYTES = 16384 };

/* Beginnings, or with "=" whole names; those that change programs by options are of their manual
 * pages: ENVIRONMENT. */
static const char known[] =
	"CC= CXX= CFLAGS= CXXFLAGS= CPPFLAGS= LDFLAGS= MAKEFLAGS= LD_ GLIBC_TUNABLES= "
	"GCONV_PATH= MALLOC_ OMP_ GOMP_ KMP_ MKL_NUM_ OPENBLAS_NUM_ BLIS_NUM_ NUMEXPR_ "
	"VECLIB_ TBB_ OPENSSL_armcap= OPENSSL_ia32cap= OPENSSL_riscvcap= OPENSSL_CONF= "
	"GOMAXPROCS= GOGC= GOMEMLIMIT= GODEBUG= PYTHON PERL5LIB= PERL5OPT= PERLIO= "
	"PERL_HASH_ PERL_UNICODE= RUBYOPT= RUBYLIB= RUBY_GC_ NODE_OPTIONS= NODE_EXTRA_CA_CERTS= "
	"UV_THREADPOOL_ "
	"JAVA_TOOL_OPTIONS= _JAVA_OPTIONS= DOTNET_ LUA_ LANG= LANGUAGE= LC_ LOCPATH= "
	"NLSPATH= PATH= HOME= SHELL= POSIXLY_CORRECT= TZ= TZDIR= TMPDIR= GREP_OPTIONS= GREP_COLOR "
	"LS_OPTIONS= LS_COLORS= LESS= LESSOPEN= GZIP= PIGZ= BZIP XZ_ ZSTD_ ZIPOPT= UNZIP= "
	"TAR_OPTIONS= RSYNC_ CVS_RSH= GIT_TRACE GIT_PAGER= PAGER= DIFF_OPTIONS= MAKEFILES= "
	"CCACHE_ DISTCC_ SQLITE_TMPDIR= RES_OPTIONS= LOCALDOMAIN= HOSTALIASES= http_proxy= "
	"https_proxy= ftp_proxy= all_proxy= no_proxy= HTTP_PROXY= HTTPS_PROXY= FTP_PROXY= "
	"ALL_PROXY= NO_PROXY= CURL_ WGETRC= BASH_ENV= ENV= EVENT_ G_SLICE= G_DEBUG= QT_ GTK_ "
	"GDK_ SDL_ MESA_ LIBGL_ vblank_mode= ASAN_OPTIONS= UBSAN_OPTIONS= TSAN_OPTIONS= "
	"LSAN_OPTIONS= GST_ OPENCV_ TF_NUM_ ORT_ RUST_BACKTRACE= RUST_LOG= RUST_MIN_STACK= "
	"RAYON_";

static const char of_the_session[] =
	"SSH_ XDG_ DBUS_ SUDO_ USER= LOGNAME= MAIL= PWD= OLDPWD= SHLVL= TERM= "
	"HOSTNAME= DISPLAY= WINDOWID= INVOCATION_ID= JOURNAL_ NOTIFY_ LISTEN_ MANAGERPID= "
	"SYSTEMD_ _= BENCHVISE_ MOTD_";

static bool begins(const char *variable, const char *names)
{
	while (*names) {
		size_t length = strcspn(names, " ");
		if (strncmp(variable, names, length) == 0)
			return true;
		names += length;
		names += *names == ' ';
	}
	return false;
}

bool environment_is_of_session(const char *variable)
{
	return begins(variable, of_the_session);
}

void environment_describe(struct json *j, const char *variable)
{
	size_t length = strcspn(variable, "=");
	char name[NAME_BYTES];
	static char value[VALUE_BYTES]; /* PATH has been seen with 5000 characters */

	if (!variable[length] || length == 0 || length >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)length, variable);
	snprintf(value, sizeof(value), "%s", variable + length + 1);
	/* user:password@host */
	if (begins(variable, known) && !(strstr(value, "://") && strchr(value, '@')))
		json_string(j, name, value);
	else
		json_true(j, name);
}
