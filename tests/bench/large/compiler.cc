// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler as a program to optimise: reads one C or C++ file and writes an object file, all in
// this process.
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>

int main(int argc, char **argv)
{
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
    clang::CompilerInstance compiler;
#if LLVM_VERSION_MAJOR >= 22
    compiler.createVirtualFileSystem();
#endif
    compiler.createDiagnostics();
    llvm::ArrayRef<const char *> arguments(argv + 1, argv + argc);
    if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), arguments,
                                                   compiler.getDiagnostics()))
        return 1;
    clang::EmitObjAction action;
    return compiler.ExecuteAction(action) ? 0 : 1;
}
