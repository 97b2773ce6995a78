@tool
extends MCPToolkitUntrusted
## For extensions that load this script by its path; new ones name the class [MCPToolkitUntrusted].
