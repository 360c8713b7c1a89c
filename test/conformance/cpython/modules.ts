/** Modules of the sample in `fixtures/suites/cpython`. */
export const SAMPLE: readonly string[] = ["test_streams", "test_urls"];

/** Modules of CPython's suite that run in an isolate: they need no threads, processes or minutes of processor time. */
export const MODULES: readonly string[] = `
test_urllib test_urllib2 test_urllib_response test_urlparse test_httplib test_http_cookies test_http_cookiejar
test_robotparser test_shutil test_inspect test_os test_posixpath test_warnings test_print test_sys test_ctypes
test_fileio test_file test_fileinput test_genericpath test_tempfile test_glob test_time test_uuid
test_exceptions test_builtin test_linecache test_contextlib test_contextlib_async test_code
test_asyncio.test_protocols test_asyncio.test_transports test_asyncio.test_selector_events test_univnewlines
test_bufio test_stat test_filecmp test_posix test_locale test_mimetypes test_codecs test_sched test_coroutines
test_generators test_pprint test_getpass test_string test_re test_textwrap test_json test_float test_list
test_dict test_collections test_itertools test_functools test_operator test_fractions test_cmath test_enum
test_abc test_copy test_struct test_base64 test_binascii test_userdict test_userlist test_userstring test_deque
test_defaultdict test_ordered_dict test_range test_slice test_sort test_format test_difflib test_decorators
test_dictviews test_grammar test_iter test_keyword test_memoryview test_named_expressions test_patma
test_plistlib test_property test_quopri test_raise test_string_literals test_strptime test_strftime test_super
test_symtable test_timeit test_type_params test_type_annotations test_yield_from test_wsgiref test_xmlrpc
test_gettext test_netrc test_numeric_tower test_abstract_numbers test_context test_baseexception
test_except_star test_exception_group test_bool test_complex test_pow test_index test_colorsys test_binop
test_augassign test_call test_compare test_isinstance test_module test_picklebuffer test_rlcompleter
test_tabnanny test_wave test_zlib test_gzip test_bz2 test_memoryio test_random test_dataclasses
`
  .trim()
  .split(/\s+/);
