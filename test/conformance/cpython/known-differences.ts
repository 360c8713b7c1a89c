/** Tests that pass in plain Pyodide and not in a tool, with the reason: a test, or all tests of a class or module. */
type Difference = readonly [name: string, reason: string];

const NO_SOCKETS = "a sandbox has no sockets, not even unconnected ones: requests go through the capability fetch";
const NO_NAMES = "a sandbox looks up no names of hosts";
const NO_CALLBACKS =
  "C functions that call Python would need WebAssembly to be compiled, which a sealed isolate refuses";
const NO_DESCRIPTORS =
  "no function takes the descriptor of a folder, or one for a path: mounts lack them (os.supports_dir_fd and os.supports_fd are empty)";
const NO_PROCESSES = "a sandbox has no processes: what would start one is refused before its arguments are read";
const OF_A_MOUNT =
  "a path that is not below the interpreter's own folders leads to a mount, and is denied where none is granted";
const IN_PYTHON = "functions for files are written in Python, and have signatures where those in C have none";

export const KNOWN_DIFFERENCES: readonly Difference[] = [
  ["test_ctypes.test_random_things.CallbackTracbackTestCase", NO_CALLBACKS],
  ["test_ctypes.test_simplesubclasses.Test.test_ignore_retval", NO_CALLBACKS],
  ["test_ctypes.test_simplesubclasses.Test.test_int_callback", NO_CALLBACKS],
  ["test_httplib.SourceAddressTest", NO_SOCKETS],
  ["test_httplib.TimeoutTest", NO_SOCKETS],
  ["test_code", NO_CALLBACKS],
  ["test_inspect.test_inspect.TestSignatureDefinitions.test_os_module_has_signatures", IN_PYTHON],
  ["test_os.ExecTests.test_execv_with_bad_arglist", NO_PROCESSES],
  ["test_os.ExecTests.test_execve_invalid_env", NO_PROCESSES],
  ["test_os.ExecTests.test_execvpe_with_bad_arglist", NO_PROCESSES],
  ["test_os.TestScandir.test_fd", NO_DESCRIPTORS],
  ["test_os.UtimeTests.test_utime_dir_fd", NO_DESCRIPTORS],
  ["test_os.UtimeTests.test_utime_fd", NO_DESCRIPTORS],
  ["test_os.UtimeTests.test_utime_invalid_arguments", NO_DESCRIPTORS],
  ["test_posix.PosixTester.test_listdir_fd", NO_DESCRIPTORS],
  ["test_posix.PosixTester.test_utime_with_fd", NO_DESCRIPTORS],
  ["test_posix.TestPosixDirFd", NO_DESCRIPTORS],
  ["test_posixpath.PosixPathTest.test_realpath_invalid_paths", OF_A_MOUNT],
  ["test_shutil.TestRmTree.test_rmtree_fails_on_close", NO_DESCRIPTORS],
  ["test_shutil.TestRmTree.test_rmtree_with_dir_fd", NO_DESCRIPTORS],
  ["test_urllib2.HandlerTests.test_ftp_error", NO_NAMES],
  ["test_urllib_response.TestResponse", NO_SOCKETS],
  ["test_xmlrpc.UseBuiltinTypesTestCase.test_xmlrpcserver_has_use_builtin_types_flag", NO_SOCKETS],
  // Of the sample.
  ["test_urls.Urls.test_sockets_are_made", NO_SOCKETS],
];

/** Why a test, named as `unittest` names it, does not pass in a tool; `null` if it should. */
export function reasonOf(test: string): string | null {
  return KNOWN_DIFFERENCES.find(([name]) => covers(name, test))?.[1] ?? null;
}

export function covers(name: string, test: string): boolean {
  return test === `test.${name}` || test.startsWith(`test.${name}.`);
}
