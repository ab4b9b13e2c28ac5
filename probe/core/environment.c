/* What may be told of an environment. See environment.h. */
#include "core/environment.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, VALUE_BYTES = 16384 };

/* Beginnings, or with "=" whole names; those that change programs by options are of their manual
 * pages: ENVIRONMENT. */
static const char known[] =
	"CC= CXX= LD_ GLIBC_TUNABLES= MALLOC_ OMP_ GOMP_ KMP_ TBB_ OPENSSL_ GOMAXPROCS= GOGC= "
	"GOMEMLIMIT= GODEBUG= PYTHON PERL5LIB= PERL5OPT= PERLIO= PERL_ RUBYOPT= RUBYLIB= RUBY_GC_ "
	"NODE_EXTRA_CA_CERTS= DOTNET_ LUA_ LANG= LANGUAGE= LC_ SHELL= POSIXLY_CORRECT= TZ= "
	"GREP_COLOR LS_COLORS= LESS= LESSOPEN= GZIP= PIGZ= BZIP XZ_ ZSTD_ ZIPOPT= UNZIP= RSYNC_ "
	"CVS_RSH= GIT_PAGER= PAGER= MAKEFILES= CCACHE_ DISTCC_ LOCALDOMAIN= HOSTALIASES= "
	"http_proxy= https_proxy= ftp_proxy= all_proxy= no_proxy= CURL_ WGETRC= BASH_ENV= ENV= "
	"EVENT_ G_ QT_ GTK_ GDK_ SDL_ MESA_ LIBGL_ vblank_mode= GST_ OPENCV_ TF_NUM_ ORT_ "
	"RUST_BACKTRACE= RUST_LOG= RUST_MIN_STACK= RAYON_";

/* Ends of names, of whatever program. */
static const char known_ends[] =
	"OPTIONS OPTS FLAGS THREADS JOBS LEVEL DEBUG TRACE CACHE SIZE LIMIT TIMEOUT PROXY PATH "
	"DIR HOME";

/* What is in a value that has a secret: user:password@host is found apart. */
static const char secret[] = "assw ecret oken ey= redential";

static const char of_the_session[] =
	"SSH_ XDG_ DBUS_ SUDO_ USER= LOGNAME= MAIL= PWD= OLDPWD= SHLVL= TERM= "
	"HOSTNAME= DISPLAY= WINDOWID= INVOCATION_ID= JOURNAL_ NOTIFY_ LISTEN_ MANAGERPID= "
	"SYSTEMD_ _= BENCHVISE_ MOTD_";

enum place { BEGINNING, END, ANYWHERE };

/* Whether one of these words, with a space between any two, is in the text there. */
static bool has(const char *text, size_t length, const char *words, enum place place)
{
	while (*words) {
		char word[24];
		size_t size = strcspn(words, " ");

		snprintf(word, sizeof(word), "%.*s", (int)size, words);
		if (place == ANYWHERE ? strstr(text, word) != NULL
				      : (place == BEGINNING || size <= length) &&
						strncmp(place == END ? text + length - size : text,
							word, size) == 0)
			return true;
		words += size;
		words += *words == ' ';
	}
	return false;
}

bool environment_is_of_session(const char *variable)
{
	return has(variable, 0, of_the_session, BEGINNING);
}

void environment_describe(struct json *j, const char *variable)
{
	size_t length = strcspn(variable, "=");
	char name[NAME_BYTES];
	uint32_t digest;
	static char value[VALUE_BYTES]; /* PATH has been seen with 5000 characters */

	if (!variable[length] || length == 0 || length >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)length, variable);
	if (environment_is_of_session(variable)) {
		json_true(j, name);
		return;
	}
	snprintf(value, sizeof(value), "%s", variable + length + 1);
	if ((has(variable, length, known, BEGINNING) || has(variable, length, known_ends, END)) &&
	    !(strstr(value, "://") && strchr(value, '@')) && !has(value, 0, secret, ANYWHERE)) {
		json_string(j, name, value);
		return;
	}
	/* 16 bits tell that another board has another value, and too little to try what it is. */
	digest = 2166136261u; /* FNV-1a */
	for (const char *c = variable; *c; c++)
		digest = (digest ^ (unsigned char)*c) * 16777619u;
	snprintf(value, sizeof(value), "given (#%04x)", (digest ^ digest >> 16) & 0xffff);
	json_string(j, name, value);
}
